"""Programs, read in parts."""

from __future__ import annotations

import pytest

from braid.core.ingest.chunking import chunk_sections
from tests.core.ingest.reading import read

CODE = [
    ("a.py", """import os

# why
@cache
class A:
    x = 1

    def m(self):
        def inner(): ...

async def f(): ...
""", [("", 1), ("A", 3), ("A > m", 8), ("f", 11)]),
    ("a.js", """import x from 'x';
/** doc */
export const f = async () => {
};
class A {
  m() {
  }
}
function g() {
}
""", [("", 1), ("f", 2), ("A", 5), ("A > m", 6), ("g", 9)]),
    ("a.jsx", "function App() {\n  return <p>hi</p>;\n}\n", [("App", 1)]),
    ("a.ts", """interface P { a: number }
namespace N {
  export function g(): void {}
}
abstract class Q<T> {
  m(): T {}
}
""", [("P", 1), ("N", 2), ("N > g", 3), ("Q", 5), ("Q > m", 6)]),
    ("a.tsx", "export default function App(): JSX.Element {\n  return <p>hi</p>;\n}\n", [("App", 1)]),
    ("a.java", """package x;

/** doc */
public class A {
  int n;
  A() {}
  @Override
  public void m() {}
}
""", [("", 1), ("A", 3), ("A > A", 6), ("A > m", 7)]),
    ("a.go", """package main

// Run runs.
func (s *Server[T]) Run() error {
	return nil
}

type S struct{}
""", [("", 1), ("Server > Run", 3), ("S", 8)]),
    ("a.rs", """use std::fmt;

#[derive(Debug)]
struct S<T>(T);

impl<T> fmt::Display for S<T> {
    /// doc
    fn fmt(&self) {}
}
""", [("", 1), ("S", 3), ("S", 6), ("S > fmt", 7)]),
    ("a.c", """#include <x.h>
struct s { int a; };
static int *f(int a)
{
  return 0;
}
""", [("", 1), ("s", 2), ("f", 3)]),
    ("a.hpp", """#ifndef A
namespace a::b {
class X {
 public:
  int m() { return 1; }
};
}
template <class T>
T X::get() { }
#endif
""", [("", 1), ("a > b", 2), ("a > b > X", 3), ("a > b > X > m", 5), ("X > get", 8), ("", 10)]),
]  # fmt: skip


KINDS = [
    ("a.py", """import os

class Pump:
    pressure = 12

    def start(self):
        def check(): ...

def warm(): ...

if True:
    class Valve: ...
    def close(): ...
""", {"": "module", "Pump": "class", "Pump > start": "method", "warm": "function", "Valve": "class",
      "close": "function"}),
    ("a.ts", """namespace Hall {
  const size = 3;
  export class Pump {
    start() { }
    stop = () => { }
  }
  export function warm() { }
}
interface Part { id: string }
const close = () => 1;
""", {"Hall": "module", "Hall > Pump > start": "method", "Hall > Pump > stop": "method",
      "Hall > warm": "function", "Part": "class", "close": "function"}),
    ("a.go", """package x
type Pump struct { a int }
func (p *Pump) Start() {}
func Warm() {}
""", {"": "module", "Pump": "class", "Pump > Start": "method", "Warm": "function"}),
    ("a.rs", """struct Pump;
impl Pump { fn start(&self) {} }
mod hall { fn warm() {} }
enum State { On }
""", {"Pump": "class", "Pump > start": "method", "hall > warm": "function", "State": "class"}),
    ("a.java", """class Pump {
  int a = 1;
  Pump() { }
  void start() { }
}
""", {"Pump": "class", "Pump > Pump": "method", "Pump > start": "method"}),
    ("a.cpp", """namespace hall {
int warm() { return 1; }
}
struct Pump { int a; };
int Pump::start() { return 0; }
""", {"hall": "module", "hall > warm": "function", "Pump": "class", "Pump > start": "method"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "expected"), KINDS, ids=[name for name, _, _ in KINDS])
def test_the_kind_of_each_part_of_a_program(name: str, code: str, expected: dict[str, str]) -> None:
    kinds = {section.heading_path: section.chunk_kind for section in read(name, code).sections}
    assert {path: kinds.get(path) for path in expected} == expected
    chunks = chunk_sections(read(name, code), chunk_chars=100, overlap_chars=0)
    assert {chunk.heading_path: chunk.chunk_kind for chunk in chunks} == kinds


def test_other_texts_are_no_part_of_a_program() -> None:
    assert {section.chunk_kind for section in read("a.md", "# A\n\nclass Pump").sections} == {""}


@pytest.mark.parametrize(("name", "code", "expected"), CODE, ids=[name for name, _, _ in CODE])
def test_code_is_split_at_functions_and_classes(name: str, code: str, expected: list[tuple[str, int]]) -> None:
    parsed = read(name, code)
    assert [(section.heading_path, section.line) for section in parsed.sections] == expected
    lines = code.split("\n")
    for section in parsed.sections:
        assert section.line is not None
        count = section.text.count("\n") + 1
        assert section.text == "\n".join(lines[section.line - 1 : section.line - 1 + count])


def test_broken_code_loses_no_line() -> None:
    code = "def f(:\n  )))\nclass {\n x ==== 3\ndef g():\n  return 1\n"
    text = "\n".join(section.text for section in read("a.py", code).sections)
    assert all(line in text for line in code.split("\n"))
