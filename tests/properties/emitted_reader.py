"""A reader of emitted files that knows Python and tilus, and nothing of the emitter.

It takes the file apart with `ast` and writes down every replica's program in the words of the
schedule language, one op per line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}


class Reader:
    """One emitted file; names lose the underscores that keep them clear of Python's."""

    def __init__(self, text: str) -> None:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        self.comments = {
            token.start[0]: token.string.lstrip("# ")
            for token in tokens
            if token.type == tokenize.COMMENT
        }
        self.tree = ast.parse(text)
        self.kernel = next(
            node
            for node in self.tree.body
            if isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0]) == "tilus.Script"
        )
        call = next(
            node
            for node in self.kernel.body
            if isinstance(node, ast.FunctionDef) and node.name == "__call__"
        )
        annotations = {a.arg: ast.unparse(a.annotation) for a in call.args.args if a.annotation}
        self.static_k = annotations["k_size"] == "int"
        self.body = call.body
        self.rings: dict[str, dict[str, int]] = {}
        self.slots: dict[str, tuple[str, list[int]]] = {}
        self.aliases: dict[str, tuple[str, list[int]]] = {}
        self.barriers: dict[str, list[int]] = {}
        self.warps = 0
        for node in self.body:
            if isinstance(node, ast.Assign):
                self.declaration(node)

    def declaration(self, node: ast.Assign) -> None:
        target = ast.unparse(node.targets[0])
        if target == "self.attrs.warps":
            self.warps = ast.literal_eval(node.value)
        elif isinstance(node.value, ast.Call):
            given_ = {k.arg: k.value for k in node.value.keywords}
            match ast.unparse(node.value.func):
                case "Ring":
                    numbers = {str(k): ast.literal_eval(v) for k, v in given_.items()}
                    self.rings[plain(target)] = numbers
                case "self.shared_tensor":
                    dtype = DTYPES[ast.unparse(given_["dtype"])]
                    self.slots[plain(target)] = dtype, ast.literal_eval(given_["shape"])
                case "self.reshape_shared":
                    slot, shape = node.value.args
                    self.aliases[plain(target)] = plain(ast.unparse(slot)), ast.literal_eval(shape)
                case "self.mbarrier.alloc":
                    self.barriers[plain(target)] = ast.literal_eval(node.value.args[0])

    def replicas(self) -> Iterator[tuple[str, int, int, list[ast.stmt]]]:
        """Label, first thread, threads and statements of every block, in program order."""
        for node in self.body:
            if isinstance(node, ast.With):
                call = node.items[0].context_expr
                assert isinstance(call, ast.Call)
                begin, count = (ast.literal_eval(k.value) for k in call.keywords)
                yield self.comments[node.lineno], begin, count, node.body

    def programs(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for label, _, _, body in self.replicas():
            replica = int(label.partition("[")[2].rstrip("]")) if "[" in label else None
            found[label] = list(self.statements(body, replica))
        return found

    def statements(self, body: list[ast.stmt], replica: int | None) -> Iterator[str]:
        for node in body:
            match node:
                case ast.For(body=[ast.Expr(value=ast.Call() as call)]) if stores(call):
                    yield self.tma_store(node, call)
                case ast.For():
                    yield from self.loop(node, replica)
                case ast.If(body=[ast.For() as loop]) if self.guards_a_range(node.test, loop):
                    yield from self.loop(loop, replica)
                case ast.If(body=[ast.For() as loop, ast.Expr() as wait]) if self.joins(node):
                    first, end = (ast.unparse(bound) for bound in self.bounds(loop))
                    assert ast.unparse(node.test) == f"{end} > {first}"
                    yield from self.statements([loop, wait], replica)
                case ast.If():
                    yield f"if {self.compared(node.test)}"
                    yield from self.statements(node.body, replica)
                    yield "end"
                case ast.With():  # one warp of the group issues TMA ops, one thread arrives
                    yield from self.statements(node.body, replica)
                case ast.Expr(value=ast.Call() as call):
                    yield self.op(call, replica)
                case ast.Pass():
                    pass
                case ast.Assign(value=ast.Call() as call):
                    assert ast.unparse(call.func) == "self.register_tensor"
                case _:
                    raise AssertionError(f"not understood: {ast.unparse(node)}")

    def joins(self, node: ast.If) -> bool:
        """Whether the `if` is there for ptxas, and not in the schedule."""
        return self.comments.get(node.lineno, "").startswith("round the wait too")

    def bounds(self, loop: ast.For) -> tuple[ast.expr, ast.expr]:
        assert isinstance(loop.iter, ast.Call)
        assert ast.unparse(loop.iter.func) == "self.range"
        match loop.iter.args:
            case [end]:
                return ast.Constant(0), end
            case [first, end, ast.Constant(value=1)]:
                return first, end
            case _:
                raise AssertionError(ast.unparse(loop))

    def guards_a_range(self, test: ast.expr, loop: ast.For) -> bool:
        first, end = (ast.unparse(bound) for bound in self.bounds(loop))
        if ast.unparse(test) != f"{end} > {first}":
            return False
        names = {n.id for bound in (first, end) for n in ast.walk(ast.parse(bound)) if is_name(n)}
        if "k_tiles" in names and not self.static_k:
            return False
        constants = [self.constant(bound) for bound in (first, end)]
        return None in constants or constants[0] >= constants[1]  # type: ignore[operator]

    def constant(self, text: str) -> int | None:
        if re.fullmatch(r"\w+\.stages", text):
            return self.rings[plain(text.removesuffix(".stages"))]["stages"]
        return int(text) if text.isdecimal() else None

    def loop(self, loop: ast.For, replica: int | None) -> Iterator[str]:
        first, end = (self.expression(bound) for bound in self.bounds(loop))
        variable = ast.unparse(loop.target)
        yield f"for {variable if variable == '_' else plain(variable)} in {first}..{end}"
        yield from self.statements(loop.body, replica)
        yield "end"

    def compared(self, node: ast.expr) -> str:
        assert isinstance(node, ast.Compare)
        sign = ast.unparse(ast.Compare(ast.Name(""), node.ops, [ast.Name("")])).strip()
        return f"{self.expression(node.left)}{sign}{self.expression(node.comparators[0])}"

    def expression(self, node: ast.expr) -> str:
        text = re.sub(r"\bk_tiles\b", "K", ast.unparse(node))
        return plain(text).replace(" ", "")

    def op(self, call: ast.Call, replica: int | None) -> str:
        function = plain(ast.unparse(call.func))
        given_ = {k.arg: k.value for k in call.keywords}
        match function.split("."):
            case ["self", "wgmma", "fence"]:
                return "fence"
            case ["self", "wgmma", "commit_group"]:
                return "commit"
            case ["self", "wgmma", "wait_group"]:
                return f"wait {ast.unparse(call.args[0])}"
            case ["self", "wgmma", "mma"]:
                return self.mma(call, replica)
            case ["self", "tma", "global_to_shared"]:
                return self.load(given_)
            case ["self", "store_global"]:
                return self.store(call, given_, replica)
            case ["self", "store_shared"]:
                return self.stage_part(call, replica)
            case ["self", "sync"]:
                assert call.end_lineno is not None
                return f"sync {self.comments[call.end_lineno]}"
            case ["self", "fence", "proxy_async"]:
                return "fence proxy"
            case ["self", "tma", "commit_group"]:
                return "store-commit"
            case ["self", "tma", "wait_group"]:
                read = (
                    " read"
                    if ast.unparse(given_.get("read", ast.Constant(False))) == "True"
                    else ""
                )
                return f"store-wait {ast.unparse(call.args[0])}{read}"
            case ["self", "mbarrier", "arrive"]:
                return f"arrive {self.barrier(call.args[0])}"
            case ["self", "mbarrier", "wait"]:
                return f"await {self.barrier(call.args[0])} phase {ast.unparse(given_['phase'])}"
            case [ring, "advance"]:
                return f"advance {ring}"
            case [ring, verb] if ring in self.rings:
                keyword, side = verb.split("_")
                count = f" bytes {ast.unparse(given_['nbytes'])}" if keyword == "expect" else ""
                return f"{keyword} {ring}.{side}{count}{away(call)}"
            case _:
                raise AssertionError(f"not understood: {ast.unparse(call)}")

    def barrier(self, node: ast.expr) -> str:
        name, _, index = plain(ast.unparse(node)).partition("[")
        assert int(index.rstrip("]")) < len(self.barriers[name])
        return f"{name}[{index}"

    def part(self, node: ast.expr, *, slab: str | None) -> tuple[str, list[int]]:
        """Name and indices of a part of a buffer, and its shape, without the index of a slab."""
        indices: list[int] = []
        while isinstance(node, ast.Subscript):
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if slab is not None:
                *index, last = index
                assert ast.unparse(last) == slab
            indices = [ast.literal_eval(i) for i in index] + indices
            node = node.value
        name = plain(ast.unparse(node))
        shape = self.aliases[name][1] if name in self.aliases else self.slots[name][1]
        assert len(shape) == len(indices) + 3
        assert all(i < n for i, n in zip(indices, shape, strict=False))
        return "".join([name, *(f"[{i}]" for i in indices)]), shape[len(indices) :]

    def stage_part(self, call: ast.Call, replica: int | None) -> str:
        """The slabs of a part, side by side, take the accumulator."""
        target, value = call.args
        assert isinstance(target, ast.Call)
        assert ast.unparse(target.func) == "self.reshape_shared"
        turned, shape = target.args
        assert isinstance(turned, ast.Call)
        assert isinstance(turned.func, ast.Attribute)
        assert ast.unparse(turned).endswith(".permute((1, 0, 2))")
        name, (slabs, rows, columns) = self.part(turned.func.value, slab=None)
        assert ast.literal_eval(shape) == [rows, slabs * columns]
        return f"store {accumulator(uncast(value), replica)} -> {name}"

    def tma_store(self, loop: ast.For, call: ast.Call) -> str:
        """One store for each slab of a part."""
        given_ = {k.arg: k.value for k in call.keywords}
        slab = ast.unparse(loop.target)
        name, (slabs, _, columns) = self.part(given_["src"], slab=slab)
        assert ast.unparse(loop.iter) == f"self.range({slabs}, unroll='all')"
        assert isinstance(given_["offsets"], ast.List)
        row, column = given_["offsets"].elts
        assert isinstance(column, ast.BinOp)
        assert ast.unparse(column.right) == f"{slab} * {columns}"
        out = plain(ast.unparse(given_["dst"]))
        return f"tma-store {name} -> {out} row {shift(row)} column {shift(column.left)}"

    def slot(self, node: ast.expr) -> tuple[str, str]:
        """``tma.A[0]`` and how far the stage is from the cursor."""
        assert isinstance(node, ast.Subscript)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        slab = f"[{ast.unparse(index[1])}]" if len(index) == 2 else ""
        name = plain(ast.unparse(node.value))
        return f"{name}{slab}", self.stage(index[0], name.split(".")[0])

    def stage(self, node: ast.expr, ring: str) -> str:
        if isinstance(node, ast.Call):
            assert plain(ast.unparse(node.func)) == f"{ring}.stage_at"
            return away(node)
        assert plain(ast.unparse(node)) == f"{ring}.stage"
        return ""

    def mma(self, call: ast.Call, replica: int | None) -> str:
        a, b, acc = call.args
        assert isinstance(b, ast.Call)
        assert ast.unparse(b).endswith(".transpose()")
        assert isinstance(b.func, ast.Attribute)
        (left, step), (right, same) = self.slot(a), self.slot(b.func.value)
        assert step == same
        assert call.end_lineno is not None
        tile = self.comments[call.end_lineno].removeprefix("tile ").replace(" ", "")
        return f"mma {accumulator(acc, replica)}, {left}, {right}, {tile}{step}"

    def load(self, given_: dict[str | None, ast.expr]) -> str:
        slot, step = self.slot(given_["dst"])
        ring = slot.split(".")[0]
        barrier = given_["mbarrier"]
        assert isinstance(barrier, ast.Subscript)
        assert plain(ast.unparse(barrier.value)) == f"{ring}.full"
        assert self.stage(barrier.slice, ring) == step
        assert isinstance(given_["offsets"], ast.List)
        row, column = given_["offsets"].elts
        return f"load {slot} {self.k_tile(column)} of {plain(ast.unparse(given_['src']))} row " + (
            f"{shift(row)}{step}"
        )

    def k_tile(self, column: ast.expr) -> str:
        if isinstance(column, ast.Constant):
            assert column.value % 64 == 0
            return str(column.value // 64)
        assert isinstance(column, ast.BinOp)
        assert (type(column.op), ast.unparse(column.right)) == (ast.Mult, "64")
        return self.expression(column.left)

    def store(self, call: ast.Call, given_: dict[str | None, ast.expr], replica: int | None) -> str:
        out, value = call.args
        value = uncast(value)
        assert isinstance(given_["offsets"], ast.List)
        row, column = map(shift, given_["offsets"].elts)
        name = plain(ast.unparse(out))
        return f"store {accumulator(value, replica)} -> {name} row {row} column {column}"


def plain(text: str) -> str:
    """Without the underscores at the end of any name."""
    return re.sub(r"(?<=[A-Za-z0-9])_+\b", "", text)


def stores(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "self.tma.shared_to_global"


def uncast(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Call):
        assert ast.unparse(value.func) == "self.cast"
        return value.args[0]
    return value


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def away(call: ast.Call) -> str:
    steps = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    offset = steps.get("ahead", 0) - steps.get("lag", 0)
    return f" {offset:+}" if offset else ""


def shift(node: ast.expr) -> int:
    """What is added to m_offset or n_offset."""
    text = ast.unparse(node)
    return int(text.split("_offset")[1].replace(" ", "") or 0)


def accumulator(node: ast.expr, replica: int | None) -> str:
    name = ast.unparse(node).rstrip("_")
    return name if replica is None else name.removesuffix(f"_{replica}")
