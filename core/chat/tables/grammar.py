"""Plain questions about one table, as SQL: only where every word is understood."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from braid.core.chat.tables import words
from braid.core.chat.tables.amounts import amount, value_of
from braid.core.chat.tables.columns import Column, Table
from braid.core.chat.tables.database import literal, quoted
from braid.core.chat.tables.dates import MONTH_NAME, dates_in
from braid.core.chat.tables.reading import Named, Reading, find_names, in_columns
from braid.core.chat.tables.words import Operation

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(
    rf"\b(?:in|during|of|for) (?P<name>{MONTH_NAME})\b"
    r"|(?<!\d)(?P<number>\d{1,2})\s?[月월](?!別|별|ごと)(?:に|の|中|에|의)?"
)
_YEAR = re.compile(r"(?<![\d.,])(?:1[89]|20)\d\d(?![\d,]|\.\d)(?:年度?|년도?)?")
_MAX_TIED = 20
_OR = re.compile(r"\bor\b(?! (?:more|less|fewer)\b)|または|もしくは|あるいは|또는|혹은|이거나")


@dataclass(frozen=True, slots=True)
class Plan:
    """A question about a table, as SQL."""

    table: Table
    operation: Operation
    sql: str
    where: str
    """The condition of the rows that are used; empty for all."""
    measure: Column | None = None
    group: Column | None = None
    labels: tuple[Column, ...] = ()
    is_lookup: bool = False
    """Whether it adds up what may be the cell of one row: ``how much is the budget of Sales``."""


@dataclass(slots=True)
class _Asked:
    """What a question asks of a table."""

    reading: Reading
    table: Table
    operations: set[Operation]
    named: list[Named]
    conditions: list[str]
    top: int = 0
    period: int = 0
    says_sum: bool = False
    """Whether a sum is asked for in so many words."""
    group: Column | None = None


def plan(question: str, table: Table) -> Plan | None:
    """Return the SQL for a question about a table; None unless the grammar understands every word of it."""
    reading = Reading(question)
    if words.REFUSED.search(reading.text):
        return None
    asked = _Asked(reading, table, set(), [], [])
    comparisons = _comparisons(reading)
    dates = _dates(asked)
    for pattern, length in words.PERIODS:
        for match in reading.find(pattern):
            reading.take(*match.span())
            asked.period = length
    if top := words.top_of(reading.text):
        asked.top = top[2]
        reading.take(*top[:2])
    asked.named = find_names(reading, table)
    _operations(asked)
    _group(asked)
    if not (_compare(asked, comparisons) and _date_filters(asked, dates) and _value_filters(asked)):
        return None
    made = _made(asked)
    if made is None:
        return None
    units = " ".join(f"{column.style.prefix} {column.style.unit} {column.unit}" for column in table.columns)
    return made if words.says_nothing(reading.rest, f"{table.context} {units}") else None


# ---------------------------------------------------------------- what is found in the question


def _comparisons(reading: Reading) -> list[tuple[int, str, float]]:
    """Find ``more than 50,000``: (place, operator, number)."""
    found: list[tuple[int, str, float]] = []
    for pattern, operator in words.COMPARISONS:
        for match in reading.find(pattern):
            given = next(group for name, group in match.groupdict().items() if name.startswith("amount") and group)
            read = amount(given.strip())
            value = value_of(read) if read else None
            if value is not None:
                reading.take(*match.span())
                found.append((match.start(), operator, value))
    return found


def _dates(asked: _Asked) -> list[tuple[str, str]]:
    """Find dates, years and months: (operator or ``like``, ISO text). Only where a column has dates."""
    if not any(column.kind == "date" for column in asked.table.columns):
        return []
    reading, found = asked.reading, []
    for start, end, text in dates_in(reading.text):
        if reading.is_free(start, end):
            found.append((_date_operator(reading, start, end), text))
    found += [(_date_operator(reading, *match.span()), match[0][:4]) for match in reading.find(_YEAR)]
    for match in reading.find(_MONTH):
        number = int(match["number"]) if match["number"] else _MONTHS.index(match["name"][:3]) + 1
        reading.take(*match.span())
        found.append(("month", f"{number:02}"))
    return found


def _date_operator(reading: Reading, start: int, end: int) -> str:
    for before, after, operator in words.DATE_COMPARISONS:
        found_before, found_after = before.search(reading.text[:start]), after.search(reading.text[end:])
        if found_before or found_after:
            reading.take(
                found_before.start() if found_before else start, end + (found_after.end() if found_after else 0)
            )
            return operator
    reading.take(start, end)
    return "like"


def _operations(asked: _Asked) -> None:
    for operation, pattern in words.OPERATIONS.items():
        for match in asked.reading.find(pattern):
            asked.reading.take(*match.span())
            asked.operations.add(operation)
    for match in asked.reading.find(words.SUPERLATIVE):
        for operation, pattern in (("highest", words.UP), ("lowest", words.DOWN)):
            for adjective in list(asked.reading.find(pattern))[:1]:
                asked.reading.take(*match.span())
                asked.reading.take(*adjective.span())
                asked.operations.add(operation)
    asked.says_sum = "sum" in asked.operations
    for match in asked.reading.find(words.AMOUNT):
        asked.reading.take(*match.span())
        if not asked.operations:
            asked.operations.add("sum")
    if asked.top and not asked.operations & {"highest", "lowest"}:
        asked.operations.add("highest")


def _group(asked: _Asked) -> None:
    """Find the column of ``by region``."""
    text = asked.reading.text
    for each in asked.named:
        before, after = words.GROUPS_BEFORE.search(text[: each.start]), words.GROUPS_AFTER.search(text[each.end :])
        if not each.values and (before or after):
            asked.reading.take(before.start() if before else each.start, each.end + (after.end() if after else 0))
            if each.column.kind != "number" or not asked.operations & {"highest", "lowest"}:  # top 3 by revenue
                asked.group = each.column
    if asked.period:
        asked.group = _only([column for column in asked.table.columns if column.kind == "date"])


def _compare(asked: _Asked, comparisons: Sequence[tuple[int, str, float]]) -> bool:
    """Add the conditions on numbers: of the column named nearest before, else nearest, else the only one."""
    numeric = [each for each in asked.named if not each.values and each.column.kind == "number"]
    for place, operator, value in comparisons:
        nearest = min(numeric, key=lambda each: abs(each.start - place), default=None)
        column = nearest.column if nearest else _only([c for c in asked.table.columns if c.kind == "number"])
        if column is None:
            return False
        if nearest and (len(numeric) > 1 or not asked.operations & {"sum", "average", "highest", "lowest"}):
            asked.named = [each for each in asked.named if each is not nearest]
        asked.conditions.append(f"{quoted(column.name)} {operator} {literal(value)}")
    return True


def _date_filters(asked: _Asked, dates: Sequence[tuple[str, str]]) -> bool:
    said = [operator for operator, _ in dates]
    if said.count("like") > 1 or said.count("month") > 1 or ("like" in said and set(said) - {"like", "month"}):
        return False  # of two years, or a range of them, no row is in both
    columns = [each.column for each in asked.named if each.column.kind == "date" and not each.values]
    column = columns[0] if columns else _only([c for c in asked.table.columns if c.kind == "date"])
    for operator, text in dates:
        if column is None:
            return False
        name = quoted(column.name)
        if operator == "like":
            asked.conditions.append(f"{name} LIKE {literal(text + '%')}")
        elif operator == "month":
            asked.conditions.append(f"substr({name}, 6, 2) = {literal(text)}")
        else:
            cut = name if len(text) == 10 else f"substr({name}, 1, {len(text)})"
            asked.conditions.append(f"{cut} {operator} {literal(text)}")
    if dates:
        asked.named = [each for each in asked.named if each.column is not column or each.values]
    return True


def _value_filters(asked: _Asked) -> bool:
    """Add the conditions on texts. False for an "or" between columns, and for several years."""
    by_column: dict[str, list[str]] = {}
    for each in asked.named:
        if each.values:
            by_column.setdefault(each.column.name, []).extend(each.values)
    if len(by_column) + len(asked.conditions) > 1 and _OR.search(asked.reading.text):
        return False
    for name, values in by_column.items():
        listed = ", ".join(literal(value) for value in dict.fromkeys(values))
        asked.conditions.append(f"{quoted(name)} IN ({listed})" if "," in listed else f"{quoted(name)} = {listed}")
    # "the department Sales": the name of a column whose value is given says nothing more
    asked.named = [each for each in asked.named if not (not each.values and each.column.name in by_column)]
    years = [
        c
        for c in asked.table.columns
        if c.kind == "number" and re.search(r"^(?:year|年度?|연도|년도)$", c.plain.casefold())
    ]
    found = list(asked.reading.find(_YEAR)) if years else []
    if len(found) > 1:
        return False
    for match in found:
        asked.reading.take(*match.span())
        asked.conditions.append(f"{quoted(years[0].name)} = {match[0][:4]}")
    return True


# ---------------------------------------------------------------- what is asked for


def _made(asked: _Asked) -> Plan | None:
    numbers = in_columns(asked.named, "number")
    operations = asked.operations
    if len(operations & {"sum", "average"}) > 1 or len(operations & {"highest", "lowest"}) > 1 or len(numbers) > 1:
        return None
    measure = numbers[0] if numbers else None
    texts = [column for column in in_columns(asked.named, "text") if column is not asked.group]
    dates = [column for column in in_columns(asked.named, "date") if column is not asked.group]
    extreme = next(iter(operations & {"highest", "lowest"}), None)
    if extreme:
        return _extreme(asked, extreme, measure or _implied(asked, extreme) or _only(dates), texts)
    if "average" in operations:
        return _aggregate(asked, "average", measure or _implied(asked), texts)
    if "count" in operations and measure is None:
        return _count(asked, texts)
    if "sum" in operations or (measure is not None and ("count" in operations or asked.group is not None)):
        return _aggregate(asked, "sum", measure or _implied(asked), texts)
    return None


def _implied(asked: _Asked, extreme: str = "") -> Column | None:
    """Return the measure that a question means without naming it: of money for ``cheapest``, or the only numbers."""
    numeric = [column for column in asked.table.columns if column.kind == "number"]
    for adjective, names in words.BY_ADJECTIVE:
        if adjective.search(asked.reading.text):
            found = [c for c in numeric if names.search(c.name.casefold()) or (names is words.MONEY and _is_money(c))]
            if found:
                return _only(found)
    dates = [column for column in asked.table.columns if column.kind == "date"]
    if extreme and re.search(r"latest|newest|earliest|最新|新し|古|早|최근|늦|이른|오래", asked.reading.text):
        return _only(dates)
    return _only(numeric)


def _is_money(column: Column) -> bool:
    mark = f"{column.style.prefix}{column.style.unit}{column.unit}"
    return re.search(r"[€$£¥₩円원]|EUR|USD|JPY|KRW", mark) is not None


def _count(asked: _Asked, texts: Sequence[Column]) -> Plan | None:
    text, numeric = asked.reading.text, [column for column in asked.table.columns if column.kind == "number"]
    if re.search(r"\bhow many people\b|何[人名]|몇\s?명|인원", text):
        if found := _only([column for column in numeric if words.PEOPLE.search(column.name.casefold())]):
            return _aggregate(asked, "sum", found, texts)
        if not any(
            words.PERSON.search(part.casefold())
            for part in (*(c.name for c in asked.table.columns), asked.table.context)
        ):
            return None
        for match in asked.reading.find(re.compile(r"\bpeople\b")):
            asked.reading.take(*match.span())
    elif re.search(r"何個|いくつ|何本|何枚|何冊|몇\s?(?:개|권)|how many units", text):
        found = _only([column for column in numeric if words.QUANTITY.search(column.name.casefold())])
        if found and not texts:
            return _aggregate(asked, "sum", found, texts)
    if len(texts) > 1 or (len(asked.table.rows) == 1 and not asked.conditions):
        return None
    counted = "COUNT(*)"
    if texts and not _is_unique(asked.table, texts[0]):
        if asked.group is not None:
            return None
        counted = f"COUNT(DISTINCT {quoted(texts[0].name)})"
    return _grouped(asked, "count", counted, None)


def _aggregate(asked: _Asked, operation: Operation, measure: Column | None, texts: Sequence[Column]) -> Plan | None:
    if measure is None or measure.kind != "number" or measure is asked.group:
        return None
    if texts and not (len(texts) == 1 and _is_unique(asked.table, texts[0])):
        return None
    function = {"sum": "SUM", "average": "AVG"}[operation]
    return _grouped(asked, operation, f"{function}({quoted(measure.name)})", measure)


def _grouped(asked: _Asked, operation: Operation, selected: str, measure: Column | None) -> Plan:
    where = " AND ".join(dict.fromkeys(asked.conditions))
    table, condition = quoted(asked.table.name), f" WHERE {where}" if where else ""
    if asked.group is None:
        is_lookup = operation == "sum" and not asked.says_sum
        sql = f"SELECT {selected} FROM {table}{condition}"
        return Plan(asked.table, operation, sql, where, measure, is_lookup=is_lookup)
    key = quoted(asked.group.name)
    by = f"substr({key}, 1, {asked.period})" if asked.period else key
    order = "1" if asked.period or asked.group.kind == "date" else "2 DESC"
    sql = f"SELECT {by}, {selected} FROM {table}{condition} GROUP BY 1 ORDER BY {order}"
    return Plan(asked.table, operation, sql, where, measure, asked.group)


def _extreme(asked: _Asked, operation: Operation, measure: Column | None, texts: Sequence[Column]) -> Plan | None:
    """Return the rows, or groups, with the highest or lowest number or date."""
    function = next(
        (f for name, f in (("sum", "SUM"), ("average", "AVG"), ("count", "COUNT")) if name in asked.operations), ""
    )
    label = asked.group or (texts[0] if texts else None)
    if function == "COUNT" and measure is not None:
        function = ""
    if function == "COUNT" or measure is None:
        return None
    if measure.kind == "date" and re.search(r"\b(?:oldest|youngest)\b|若|어린|젊은", asked.reading.text):
        return None  # by a birth date, or by a date of entry
    if label is not None and not _is_unique(asked.table, label, asked.conditions):
        if not function and (measure.kind != "number" or words.NOT_ADDITIVE.search(measure.name.casefold())):
            return _best_rows(asked, operation, measure, (label,)) if not asked.group else None
        return _best_groups(asked, operation, measure, label, function or "SUM")
    if function or asked.group:
        return None
    labels = tuple(texts) or _labels(asked.table, measure)
    return _best_rows(asked, operation, measure, labels)


def _best_groups(asked: _Asked, operation: Operation, measure: Column, label: Column, function: str) -> Plan:
    where = " AND ".join(dict.fromkeys(asked.conditions))
    key, order = quoted(label.name), "DESC" if operation == "highest" else "ASC"
    sql = (
        f"SELECT {key}, {function}({quoted(measure.name)}) FROM {quoted(asked.table.name)}"
        f"{f' WHERE {where}' if where else ''} GROUP BY 1 ORDER BY 2 {order} LIMIT {asked.top or 1}"
    )
    chosen = f"{key} IN (SELECT {key} FROM {quoted(asked.table.name)}{f' WHERE {where}' if where else ''} GROUP BY 1 "
    chosen += f"ORDER BY {function}({quoted(measure.name)}) {order} LIMIT {asked.top or 1})"
    return Plan(asked.table, operation, sql, " AND ".join(filter(None, (where, chosen))), measure, label)


def _best_rows(asked: _Asked, operation: Operation, measure: Column, labels: tuple[Column, ...]) -> Plan:
    where = " AND ".join(dict.fromkeys(asked.conditions))
    table, name = quoted(asked.table.name), quoted(measure.name)
    condition = f" WHERE {where}" if where else ""
    selected = ", ".join([*(quoted(column.name) for column in labels if column is not measure), name])
    order = "DESC" if operation == "highest" else "ASC"
    if asked.top:
        known = " AND ".join(filter(None, (where, f"{name} IS NOT NULL")))
        used = f"rowid IN (SELECT rowid FROM {table} WHERE {known} ORDER BY {name} {order} LIMIT {asked.top})"
        sql = f"SELECT {selected} FROM {table} WHERE {known} ORDER BY {name} {order} LIMIT {asked.top}"
        return Plan(asked.table, operation, sql, used, measure, None, labels)
    function = "MAX" if operation == "highest" else "MIN"
    used = " AND ".join(filter(None, (where, f"{name} = (SELECT {function}({name}) FROM {table}{condition})")))
    sql = f"SELECT {selected} FROM {table} WHERE {used} LIMIT {_MAX_TIED}"
    return Plan(asked.table, operation, sql, used, measure, None, labels)


def _labels(table: Table, measure: Column) -> tuple[Column, ...]:
    """Return the column that names the rows: the first of texts that differ, else the first of texts or dates."""
    texts = [column for column in table.columns if column.kind == "text"]
    found = next((column for column in texts if _is_unique(table, column)), texts[0] if texts else None)
    if found is None:
        found = next((column for column in table.columns if column is not measure), None)
    return (found,) if found else ()


def _is_unique(table: Table, column: Column, conditions: Iterable[str] = ()) -> bool:
    position = table.columns.index(column)
    values = [row[position] for row in table.rows if row[position] is not None]
    return len(set(values)) == len(values)


def _only(columns: Sequence[Column]) -> Column | None:
    return columns[0] if len(columns) == 1 else None
