"""Plain questions about one table, as SQL: only where every word is understood."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from braid.core.chat.tables import words
from braid.core.chat.tables.amounts import amount, value_of
from braid.core.chat.tables.columns import Column, Table
from braid.core.chat.tables.database import literal, quoted
from braid.core.chat.tables.dated import (
    calendar_condition,
    calendar_of,
    date_condition,
    year_column,
    year_condition,
    years_of,
)
from braid.core.chat.tables.reading import NamedColumn, QuestionReading, find_names, in_columns
from braid.core.chat.tables.words import Operation
from braid.core.text.moments import UnclearPeriodError
from braid.core.text.periods import Period, period_in

_MAX_TIED = 20
_ANY_YEAR = 2000
"""The year of months in a table that says none."""
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
    """Whether the statement adds up what may be the cell of one row: ``how much is the budget of Sales``."""
    period: tuple[str, str] = ("", "")
    """First and last day, month or year, where the rows are those of a period; the end of an open one is empty."""


class NotUnderstoodError(Exception):
    """A question that is not understood as one about a table."""

    def __init__(self, said: str = "", *, is_about: bool = False) -> None:
        super().__init__(said)
        self.said = said
        """What of the question is not understood; empty where that is no part of it."""
        self.is_about = is_about
        """Whether the question asks for a number, and names a column or a value of the table."""


@dataclass(slots=True)
class _Asked:
    """What a question asks of a table."""

    reading: QuestionReading
    table: Table
    operations: set[Operation]
    named: list[NamedColumn]
    conditions: list[str]
    top: int = 0
    period: int = 0
    between: tuple[str, str] = ("", "")
    """First and last day, month or year of the period that is asked for."""
    says_sum: bool = False
    """Whether a sum is asked for in so many words."""
    group: Column | None = None


def plan(question: str, table: Table) -> Plan:
    """Return the SQL for a question about a table. Raises NotUnderstoodError unless every word of it is understood."""
    asked = _Asked(QuestionReading(question), table, set(), [], [])
    try:
        made = _planned(asked)
    except UnclearPeriodError as error:
        raise NotUnderstoodError(str(error), is_about=_is_about(asked)) from error
    rest = words.not_understood(asked.reading.rest, _known(table))
    if made is None or rest:
        raise NotUnderstoodError(_refused(asked) or rest, is_about=_is_about(asked))
    return made


def _planned(asked: _Asked) -> Plan | None:
    reading, table = asked.reading, asked.table
    comparisons = _comparisons(reading)
    excluded = _exclusions(reading, table)
    of_dates = any(column.kind == "date" for column in table.columns)
    period = _period(asked) if of_dates else None
    if not of_dates:
        _calendar(asked)
    if words.REFUSED.search(reading.rest):
        return None
    for pattern, length in words.PERIODS:
        for match in reading.find(pattern):
            reading.take(*match.span())
            asked.period = length
    is_whole = _top(asked)
    asked.named = [replace(each, is_excluded=each.start in excluded) for each in find_names(reading, table)]
    # a value to leave out that was read as a period, or in a comparison, would be kept instead
    is_left_out = excluded <= {each.start for each in asked.named}
    if not (is_whole and is_left_out) or _is_range_of_names(asked):
        return None
    _operations(asked)
    _group(asked)
    if not (_compare(asked, comparisons) and _date_filter(asked, period) and _value_filters(asked)):
        return None
    made = _made(asked)
    return made and replace(made, period=asked.between)


def _is_about(asked: _Asked) -> bool:
    """Return whether a question asks for a number of the table: how many, a sum, an average, the highest or lowest."""
    text = asked.reading.text
    if not any(pattern.search(text) for pattern in words.OPERATIONS.values()):
        return False
    return bool(asked.named or find_names(QuestionReading(text), asked.table))


def _refused(asked: _Asked) -> str:
    found = words.REFUSED.search(asked.reading.rest)
    return found[0].strip() if found else ""


def _known(table: Table) -> str:
    """Return the words that say nothing new about a table: its title and headings, and its units."""
    units = " ".join(f"{column.style.prefix} {column.style.unit} {column.unit}" for column in table.columns)
    return f"{table.context} {units}"


# ---------------------------------------------------------------- what is found in the question


def _comparisons(reading: QuestionReading) -> list[tuple[int, str, float]]:
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


def _exclusions(reading: QuestionReading, table: Table) -> set[int]:
    """Find ``without Osaka and Seoul``: return where the values begin whose rows are left out."""
    text, found = reading.text, set[int]()
    before = {match.end(): match for match in words.LEAVES_OUT_BEFORE.finditer(text)}
    if not before and not words.LEAVES_OUT_AFTER.search(text):
        return found
    named = find_names(QuestionReading(text), table)
    values = [each for each in named if each.values]
    for place, each in enumerate(values):
        if each.start in before:
            reading.take(*before[each.start].span())
            found.add(each.start)
            for one, other in pairwise(values[place:]):
                if not words.JOINS.fullmatch(text, one.end, other.start):
                    break
                found.add(other.start)
        column = next((one for one in named if one.start == each.end and one.column is each.column), each)
        if after := words.LEAVES_OUT_AFTER.match(text, column.end):
            reading.take(*after.span())
            found.add(each.start)
            for one, other in pairwise(values[place::-1]):
                if not words.JOINS.fullmatch(text, other.end, one.start):
                    break
                found.add(other.start)
    return found


def _period(asked: _Asked) -> Period | None:
    """Find the period of a question. Raises UnclearPeriodError."""
    period = period_in(asked.reading.rest, years_of(asked.table))
    if period:
        asked.reading.take(period.start, period.end)
        asked.between = (period.first, period.last)
    return period


def _calendar(asked: _Asked) -> None:
    """Find the period of a question to a table with a column of months or quarters. Raises UnclearPeriodError."""
    calendar = calendar_of(asked.table)
    if calendar is None:
        return
    years = years_of(asked.table)
    try:
        period = period_in(asked.reading.rest, years or {_ANY_YEAR})
    except UnclearPeriodError:
        return  # a list of months is one of values; ranges of values are refused
    if period is None:
        return
    said = bool(years) or any(end[:4] not in ("", str(_ANY_YEAR)) for end in (period.first, period.last))
    if said and not years:
        raise UnclearPeriodError(period.first or period.last)
    if {len(period.first), len(period.last)} <= {0, 4}:
        return  # of whole years, for the column of years
    condition = calendar_condition(asked.table, calendar, period, years=sorted(years or {_ANY_YEAR}), said=said)
    asked.reading.take(period.start, period.end)
    asked.conditions.append(condition)
    asked.between = (period.first, period.last) if years else ("", "")


def _top(asked: _Asked) -> bool:
    """Find ``top 3``. False for rows in an order of which the question wants all."""
    if top := words.top_of(asked.reading.rest):
        asked.top = top[2]
        asked.reading.take(*top[:2])
    for pattern, operation in words.ORDERS:
        for match in asked.reading.find(pattern):
            asked.reading.take(*match.span())
            asked.operations.add(operation)
    return bool(asked.top) or not asked.operations


_RANGE_AFTER = re.compile(r"\s?(?:まで|迄|以降|以前|까지|부터|이후|이전)")
_RANGE_BETWEEN = re.compile(r"\s?(?:to|through|until|[-–—~〜]|から|より|부터|에서)\s?(?:the )?")


def _is_range_of_names(asked: _Asked) -> bool:
    """Return whether a question asks for all from one value, or column, to another: only periods have an order."""
    text = asked.reading.text
    pairs = zip(asked.named, asked.named[1:], strict=False)
    return any(_RANGE_AFTER.match(text, each.end) for each in asked.named) or any(
        one.column.kind == other.column.kind and _RANGE_BETWEEN.fullmatch(text[one.end : other.start])
        for one, other in pairs
    )


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
        asked.operations.add(_direction(asked.reading))


def _direction(reading: QuestionReading) -> Operation:
    """Return which end is meant by ``売上の高い3社``: the highest unless an adjective says the lowest."""
    found: Operation = "highest"
    for operation, pattern in (("highest", words.UP), ("lowest", words.DOWN)):
        for match in reading.find(pattern):
            reading.take(*match.span())
            found = "lowest" if operation == "lowest" else found
    return found


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


def _date_filter(asked: _Asked, period: Period | None) -> bool:
    """Add the condition on the date that is named, or the only one. Raises UnclearPeriodError."""
    if period is None:
        return True
    columns = [each.column for each in asked.named if each.column.kind == "date" and not each.values]
    column = columns[0] if columns else _only([c for c in asked.table.columns if c.kind == "date"])
    if column is None:
        return False
    asked.conditions.append(date_condition(asked.table, column, period))
    asked.named = [each for each in asked.named if each.column is not column or each.values]
    return True


def _value_filters(asked: _Asked) -> bool:
    """Add the conditions on texts and years. False for an "or" between columns."""
    by_column: dict[tuple[str, bool], list[str]] = {}
    for each in asked.named:
        if each.values:
            by_column.setdefault((each.column.name, each.is_excluded), []).extend(each.values)
    if len(by_column) + len(asked.conditions) > 1 and _OR.search(asked.reading.text):
        return False
    for (name, is_excluded), values in by_column.items():
        listed, column = ", ".join(literal(value) for value in dict.fromkeys(values)), quoted(name)
        if is_excluded:
            asked.conditions.append(f"({column} NOT IN ({listed}) OR {column} IS NULL)")
        else:
            asked.conditions.append(f"{column} IN ({listed})" if "," in listed else f"{column} = {listed}")
    # "the department Sales": the name of a column whose value is given says nothing more
    given = {name for name, _ in by_column}
    asked.named = [each for each in asked.named if each.values or each.column.name not in given]
    return _year_filter(asked)


def _year_filter(asked: _Asked) -> bool:
    """Add the condition on a column of years. Raises UnclearPeriodError."""
    column = year_column(asked.table)
    if column is None:
        return True
    text = asked.reading.rest.replace("年度", "年 ") if "度" in column.plain else asked.reading.rest
    period = period_in(text, ())
    if period:
        asked.reading.take(period.start, period.end)
        asked.conditions.append(year_condition(column, period))
        asked.between = (period.first, period.last)
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
    if "count" in operations and (measure is None or _counts_rows(asked, measure)):
        return _count(asked, texts)
    if "sum" in operations or (measure is not None and ("count" in operations or asked.group is not None)):
        return _aggregate(asked, "sum", measure or _implied(asked), texts)
    return None


def _counts_rows(asked: _Asked, measure: Column) -> bool:
    """Return whether rows are counted, whatever else is named: 数量が5未満の売上は何件."""
    return words.OF_ROWS.search(asked.reading.text) is not None and not words.OF_ROWS.search(measure.name.casefold())


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
    by = _key(asked, asked.group)
    order = "1" if asked.period or asked.group.kind == "date" else "2 DESC"
    sql = f"SELECT {by}, {selected} FROM {table}{condition} GROUP BY 1 ORDER BY {order}"
    return Plan(asked.table, operation, sql, where, measure, asked.group)


def _key(asked: _Asked, group: Column) -> str:
    """Return the column that groups, of dates its month or year where those are asked for, in SQL."""
    key = quoted(group.name)
    return f"substr({key}, 1, {asked.period})" if asked.period and group.kind == "date" else key


def _extreme(asked: _Asked, operation: Operation, measure: Column | None, texts: Sequence[Column]) -> Plan | None:
    """Return the rows, or groups, with the highest or lowest number or date."""
    function = next(
        (f for name, f in (("sum", "SUM"), ("average", "AVG"), ("count", "COUNT")) if name in asked.operations), ""
    )
    label = asked.group or (texts[0] if texts else None)
    if asked.period and (label is None or texts):
        return None
    if function == "COUNT" and measure is not None:
        function = ""
    if function == "COUNT" or measure is None:
        return None
    if measure.kind == "date" and re.search(r"\b(?:oldest|youngest)\b|若|어린|젊은", asked.reading.text):
        return None  # by a birth date, or by a date of entry
    if label is not None and (asked.period or not _is_unique(asked.table, label, asked.conditions)):
        if not function and (measure.kind != "number" or words.NOT_ADDITIVE.search(measure.name.casefold())):
            return _best_rows(asked, operation, measure, (label,)) if not asked.group else None
        return _best_groups(asked, operation, measure, label, function or "SUM")
    if function or asked.group:
        return None
    labels = tuple(texts) or _labels(asked.table, measure)
    return _best_rows(asked, operation, measure, labels)


def _best_groups(asked: _Asked, operation: Operation, measure: Column, label: Column, function: str) -> Plan:
    where = " AND ".join(dict.fromkeys(asked.conditions))
    key, order = _key(asked, label), "DESC" if operation == "highest" else "ASC"
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
