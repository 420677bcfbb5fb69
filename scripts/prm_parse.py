# SPDX-License-Identifier: Apache-2.0
"""Parser of PRM layouts: mlx5_ifc.h and our .layout files, for prm_gen.py.

The grammar is the one of mlx5_ifc.h: a structure has one `u8` per bit, so `u8 pd[0x18];` is a
24-bit field, `u8 pas[][0x40];` an array of 64-bit elements as long as the buffer, and a nested
structure or union occupies the bits of its members. Our files add `patch`:

    patch struct initial_seg { u8 cmd_exec_timeout[0x20] @ 0x7fc0; };

puts a field at a bit offset where the header has reserved bits (or a field of the same name and
place); in a union, `patch` adds a member. A structure defined in a later file replaces the same
name of an earlier one. Whatever is not understood stops the run with file and line.
"""

import ast
import pathlib
import re
from dataclasses import dataclass, field, replace

TOKEN = re.compile(r"\s*(?:(\w+)|(<<|>>|[{}\[\];,=@()+\-*/|~]))")
# "resereved" is how the header spells one of them.
RESERVED = re.compile(r"(reserved|resereved|rsvd)(_at)?_?[0-9a-f]*$")


class LayoutError(Exception):
    """The input is wrong or not understood; the message starts with file:line."""


@dataclass
class Field:
    """One member. `width` is of an element; `count` is None for a plain field, 0 for a tail."""

    name: str
    width: int = 0
    nested: "str | None" = None
    count: "int | str | None" = None
    where: str = ""
    at: "int | None" = None
    offset: int = 0
    gcc_path: str = ""
    bytes_tail: bool = False
    open: bool = False

    @property
    def reserved(self):
        """Reserved bits: kept for reflection, no C++ member."""
        return self.nested is None and RESERVED.match(self.name) is not None

    @property
    def bits(self):
        """Bits of the whole member; a variable tail counts as none, as in C."""
        return self.width * (1 if self.count is None else self.count)


@dataclass
class Layout:
    """A structure or union; `members` as parsed, `fields` flat with offsets."""

    name: str
    union: bool
    members: list
    where: str
    c_tag: str = ""
    bits: int = 0
    fields: list = field(default_factory=list)
    tail: bool = False
    done: bool = False


class Parser:
    """Recursive descent over all input files; `layouts` and `constants` are the result."""

    def __init__(self):
        self.layouts, self.constants, self.opcodes = {}, {}, {}
        self.patches = []

    def parse(self, text, path):
        """Parse one file. Later files replace structures of earlier ones."""
        keep_lines = lambda m: "\n" * m.group().count("\n") or " "  # noqa: E731
        text = re.sub(r"/\*.*?\*/|//[^\n]*", keep_lines, text, flags=re.S)
        self.path, self.tokens, self.pos, self.own = path, [], 0, {}
        logical, start = "", 1
        for number, line in enumerate(text.split("\n"), 1):
            start = start if logical else number
            logical += line
            if logical.endswith("\\"):
                logical = logical[:-1] + " "
            elif logical.lstrip().startswith("#"):
                self.preprocessor(logical.strip(), start)
                logical = ""
            else:
                self.tokenize(logical, start)
                logical = ""
        while self.pos < len(self.tokens):
            self.top_level()
        self.layouts.update(self.own)

    def preprocessor(self, line, number):
        """Defines without arguments are constants; all else but a pragma carries no layout."""
        define = re.match(r"#\s*define\s+(\w+)\s+(.+)$", line)
        if define:
            self.constants[define[1]] = define[2]
        elif not re.match(
            r"#\s*(define\s+\w+(\(|$)|include|ifndef|ifdef|if|else|endif|undef)", line
        ):
            raise LayoutError(f"{self.path}:{number}: directive not understood: {line}")

    def tokenize(self, line, number):
        """Append the tokens of a line; any other character is an error."""
        pos, line = 0, line.rstrip()
        while pos < len(line):
            match = TOKEN.match(line, pos)
            if not match:
                raise LayoutError(f"{self.path}:{number}: not understood: {line.strip()}")
            self.tokens.append((match[1] or match[2], number))
            pos = match.end()

    def here(self):
        """file:line of the current token."""
        number = self.tokens[min(self.pos, len(self.tokens) - 1)][1]
        return f"{self.path}:{number}"

    def peek(self):
        """The current token, or an empty string at the end."""
        return self.tokens[self.pos][0] if self.pos < len(self.tokens) else ""

    def take(self, *expected):
        """Consume one token, which must be one of `expected` if any are given."""
        token = self.peek()
        if not token or (expected and token not in expected):
            raise LayoutError(
                f"{self.here()}: '{token}' where {' or '.join(expected)} was expected"
            )
        self.pos += 1
        return token

    def identifier(self):
        """Consume a name."""
        if not re.match(r"[A-Za-z_]\w*$", self.peek()):
            raise LayoutError(f"{self.here()}: '{self.peek()}' where a name was expected")
        return self.take()

    def top_level(self):
        """enum, struct, union or patch."""
        where, patch = self.here(), self.peek() == "patch"
        if patch:
            self.take()
        kind = self.take("struct", "union") if patch else self.take("struct", "union", "enum")
        if kind == "enum":
            return self.enum()
        tag = self.identifier()
        layout = Layout(layout_name(tag), kind == "union", self.members(), where, f"{kind} {tag}")
        self.take(";")
        if patch:
            self.patches.append(layout)
        elif layout.name in self.own:
            raise LayoutError(f"{where}: {layout.name} is defined twice in this file")
        else:
            self.own[layout.name] = layout

    def enum(self):
        """Remember each enumerator's expression; the enum with the command opcodes is special."""
        names, previous = {}, None
        if self.peek() != "{":
            self.identifier()
        self.take("{")
        while self.peek() != "}":
            name, depth, text = self.identifier(), 0, []
            if self.peek() == "=":
                self.take()
                while depth or self.peek() not in (",", "}"):
                    depth += {"(": 1, ")": -1}.get(self.peek(), 0)
                    text.append(self.take())
            names[name] = " ".join(text) or (f"{previous} + 1" if previous else "0")
            previous = name
            if self.peek() == ",":
                self.take()
        self.take("}")
        self.take(";")
        self.constants.update(names)
        if "MLX5_CMD_OP_QUERY_HCA_CAP" in names:
            self.opcodes = {n: v for n, v in names.items() if n != "MLX5_CMD_OP_MAX"}

    def members(self):
        """{ ... }"""
        self.take("{")
        result = []
        while self.peek() != "}":
            result.append(self.member())
        self.take("}")
        return result

    def member(self):
        """One member: u8 bits, a structure by name or in place, or a flexible array in a union."""
        where, kind = self.here(), self.take("u8", "struct", "union", "DECLARE_FLEX_ARRAY")
        member = Field("", where=where)
        if kind == "DECLARE_FLEX_ARRAY":
            self.take("(")
            self.take("struct")
            member.nested, member.count = layout_name(self.identifier()), 0
            self.take(",")
            member.name = self.identifier()
            self.take(")")
        elif kind == "u8":
            member.name = self.identifier()
            dims = self.dimensions()
            if not 1 <= len(dims) <= 2:
                raise LayoutError(f"{where}: {member.name} needs one or two dimensions")
            if dims == [0]:  # C: bytes of unknown number, not bits
                member.count, member.width, member.bytes_tail = 0, 8, True
            else:
                member.width = self.evaluate(dims[-1], where)
                member.count = dims[0] if len(dims) == 2 else None
        elif self.peek() == "{":
            inner = Layout("", kind == "union", self.members(), where)
            if self.peek() == ";":
                self.take()
                return inner
            member.name, member.nested = self.identifier(), inner
        else:
            member.nested, member.name = layout_name(self.identifier()), self.identifier()
            dims = self.dimensions()
            if len(dims) > 1:
                raise LayoutError(f"{where}: {member.name} has too many dimensions")
            member.count = dims[0] if dims else None
        if self.peek() == "@":
            self.take()
            member.at = self.evaluate(self.take(), where)
        self.take(";")
        return member

    def dimensions(self):
        """[a][b] as texts; an empty dimension is 0."""
        dims = []
        while self.peek() == "[":
            self.take("[")
            text = []
            while self.peek() != "]":
                text.append(self.take())
            self.take("]")
            dims.append(" ".join(text) or 0)
        return dims

    def evaluate(self, text, where):
        """Value of an integer expression over known constants."""
        try:
            return self.expression(str(text), 0)
        except (ValueError, SyntaxError, KeyError, RecursionError) as error:
            raise LayoutError(f"{where}: cannot evaluate '{text}' ({error})") from error

    def expression(self, text, depth):
        """Replace names by values, then evaluate what must be plain arithmetic."""
        if depth > 40:
            raise ValueError("endless definition")
        text = re.sub(r"\(\s*u64\s*\)|(?<=[0-9a-fA-F])U?L?L\b", "", text)
        text = re.sub(r"\bBIT(?:_ULL)?\s*\(", "(1 << ", text)
        known = lambda m: str(self.expression(self.constants[m[0]], depth + 1))  # noqa: E731
        text = re.sub(r"\b[A-Za-z_]\w*", known, text)
        allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
        tree = ast.parse(text.strip(), mode="eval")
        if not all(isinstance(node, allowed) for node in ast.walk(tree)):
            raise ValueError("not arithmetic")
        return eval(compile(tree, "constant", "eval"), {"__builtins__": {}})


def layout_name(tag):
    """mlx5_ifc_qpc_bits -> qpc; own files may use the short name."""
    name = re.sub(r"^mlx5_ifc_|_bits$", "", tag)
    return name if name[0].isalpha() else "_" + name


class Resolver:
    """Computes sizes and offsets, gives groups with a name their own layout, applies patches."""

    def __init__(self, parser):
        self.parser, self.layouts = parser, parser.layouts
        for patch in parser.patches:
            if patch.name not in self.layouts:
                raise LayoutError(f"{patch.where}: patch of unknown {patch.name}")
        self.patches = {}
        for patch in parser.patches:
            self.patches.setdefault(patch.name, []).append(patch)
        for name in list(self.layouts):
            self.resolve(self.layouts[name], ())

    def resolve(self, layout, parents):
        """Fill bits, fields and tail of a layout once."""
        if layout.done:
            return layout
        if layout.name in parents:
            raise LayoutError(f"{layout.where}: {layout.name} contains itself")
        parents = parents + (layout.name,)
        layout.bits, layout.fields = self.place(layout, layout, 0, parents)
        for patch in self.patches.get(layout.name, []):
            self.patch(layout, patch, parents)
        seen = set()
        for f in layout.fields:
            if f.name in seen:
                raise LayoutError(f"{f.where}: {layout.name} has two members {f.name}")
            seen.add(f.name)
        layout.tail = any(f.open for f in layout.fields)
        layout.done = True
        return layout

    def place(self, owner, group, base, parents):
        """Bits and flat fields of a group that starts at bit `base` of `owner`."""
        position, size, fields = 0, 0, []
        for index, member in enumerate(group.members):
            start = base if group.union else base + position
            last = group.union or index == len(group.members) - 1
            if isinstance(member, Layout):  # unnamed: members belong to the owner
                bits, inner = self.place(owner, member, start, parents)
                if not last and any(f.open for f in inner):
                    raise LayoutError(f"{member.where}: variable tail before the end")
                fields += inner
            else:
                f = self.sized(owner, member, start, parents)
                if f.open and not last:
                    # The header has a few; the tail then lies over what follows: no open end.
                    if f.count == 0:
                        raise LayoutError(f"{f.where}: variable tail before the end")
                    f = replace(f, open=False)
                fields.append(f)
                bits = f.bits
            position += bits
            size = max(size, bits)
        return (size if group.union else position), fields

    def sized(self, owner, member, offset, parents):
        """A copy of the member with width, offset and nested name known."""
        f = replace(member, offset=offset)
        if isinstance(f.nested, Layout):
            inner = replace(f.nested, name=f"{owner.name}_{f.name}")
            if inner.name in self.layouts:
                raise LayoutError(f"{f.where}: {inner.name} exists already")
            self.layouts[inner.name] = inner
            if owner.c_tag:
                inner.c_tag = f"typeof((({owner.c_tag} *)0)->{f.name})"
            f.nested = inner.name
        if f.nested is not None:
            if f.nested not in self.layouts:
                raise LayoutError(f"{f.where}: unknown structure {f.nested}")
            inner = self.resolve(self.layouts[f.nested], parents)
            f.width, f.open = inner.bits, inner.tail and f.count is None
        if f.count is not None:
            f.count = self.parser.evaluate(f.count, f.where)
            f.open = f.open or f.count == 0
        return f

    def patch(self, layout, patch, parents):
        """Add the patch's members: in a union side by side, in a structure over reserved bits."""
        layout.c_tag = ""  # no longer what the C compiler sees
        for member in patch.members:
            if isinstance(member, Layout):
                raise LayoutError(f"{member.where}: a patch has named members only")
            f = self.sized(layout, member, member.at or 0, parents)
            if layout.union:
                if f.bits > layout.bits:
                    raise LayoutError(f"{f.where}: {f.name} is larger than {layout.name}")
                layout.fields.append(f)
                continue
            if member.at is None:
                raise LayoutError(f"{f.where}: {f.name} needs '@ bit offset'")
            end = f.offset + f.bits
            for index, old in enumerate(layout.fields):
                old_end = old.offset + old.bits
                same = old.name == f.name and old.offset == f.offset and old.bits == f.bits
                if same or (old.reserved and old.offset <= f.offset and end <= old_end):
                    pieces = [(old.offset, f.offset), (end, old_end)]
                    gaps = [
                        Field(f"reserved_at_{a:x}", b - a, where=f.where, offset=a)
                        if a < b
                        else None
                        for a, b in pieces
                    ]
                    layout.fields[index : index + 1] = [x for x in (gaps[0], f, gaps[1]) if x]
                    break
            else:
                raise LayoutError(
                    f"{f.where}: {layout.name}.{f.name} does not lie in reserved bits"
                )


def load(paths):
    """Parse and resolve files in order. A header's sibling includes must be given as well."""
    parser = Parser()
    for path in paths:
        parser.parse(pathlib.Path(path).read_text(), str(path))
    Resolver(parser)
    return parser
