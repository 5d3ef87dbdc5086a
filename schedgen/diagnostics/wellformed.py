"""SG1xx: the text or value is no schedule.  Pages only: the rows of `ir.spec` raise them."""

from __future__ import annotations

from typing import ClassVar


class Page:
    """A code whose message is made where the text is read."""

    code: ClassVar[str]
    name: ClassVar[str]


class SyntaxFault(Page):
    """The text does not parse.

    What it means
        A token stands where the grammar expects another.
    Why it is wrong
        Nothing can be said about a schedule that cannot be read.
    Example
        `wait` without its number.
    Fix
        See what was expected at the place; `schedgen show hopper_matmul_v4` is a model.
    """

    code = "SG101"
    name = "syntax-error"


class DeclarationCount(Page):
    """A line that stands once is missing or doubled.

    What it means
        A schedule has exactly one `problem` and one `tile` line.
    Why it is wrong
        Without them sizes and types have no meaning.
    Example
        A text that begins with its rings.
    Fix
        Add or remove the line.
    """

    code = "SG102"
    name = "declaration-count"


class UnknownName(Page):
    """A name is used that is not declared.

    What it means
        A ring, slot, barrier, accumulator or buffer of that name does not exist.
    Why it is wrong
        The op has nothing to act on.
    Example
        `load tma.C k` with slots A and B.
    Fix
        Declare it or correct the spelling.
    """

    code = "SG103"
    name = "unknown-name"


class DuplicateName(Page):
    """A name is declared twice.

    What it means
        Two rings, slots of one ring, barriers, accumulators, buffers or roles share a name.
    Why it is wrong
        An op that names it could mean either.
    Example
        Two roles called `consumer`.
    Fix
        Rename one; for equal programs use replicas, `role consumer[2]`.
    """

    code = "SG104"
    name = "duplicate-name"


class NoStages(Page):
    """A ring has no stages.

    What it means
        `stages` is zero or negative.
    Why it is wrong
        Use u lies in stage u mod S.
    Example
        `ring tma stages 0 empty 2 full 1`.
    Fix
        At least one stage.
    """

    code = "SG105"
    name = "stages-below-one"


class SlabIndex(Page):
    """An index of a slab, part or barrier is missing, not wanted, or outside what is declared.

    What it means
        `slot A[2]` is named as `tma.A[0]`, `tma.A[1]` or `tma.A[self]`; `slot B` without index.
        Parts of buffers and arrays of barriers are named in the same way.  An index that changes
        in a loop must be inside in every turn, whatever K.
    Why it is wrong
        The op would name no storage, or the memory of something else.
    Example
        `tma.A[self]` in `consumer[3]` where A has two slabs; `arrive free[turn]` in
        `for turn in 0..3` where `barrier free[2]` is declared.
    Fix
        Match the index to the declaration; bound the loop, or take the index `% 2`.
    """

    code = "SG106"
    name = "slab-index"


class OutOfScope(Page):
    """A name in an expression has no value there.

    What it means
        A loop variable is used outside its loop, `self` in a bound, or an unknown word.
    Why it is wrong
        The expression has no value.
    Example
        `mma acc, tma.A[self], tma.B, k` in the peeled step.
    Fix
        In a peeled step name the tile by a number or `K + a`.
    """

    code = "SG107"
    name = "name-out-of-scope"


class UnknownType(Page):
    """An element type is not known.

    What it means
        Types are f16, bf16 and f32.
    Why it is wrong
        Its size is not known, so bytes cannot be counted.
    Example
        `slot A : half 64x64 = a rows 0`.
    Fix
        Use a known type.
    """

    code = "SG108"
    name = "unknown-element-type"


class ForeignTensor(Page):
    """A slot or accumulator names a tensor that does not fit.

    What it means
        Slots hold operands in their type, accumulators belong to the output, and the problem reads
        out[m, n] = left[m, k] * right[n, k].
    Why it is wrong
        The product would not be defined.
    Example
        `slot A : f16 64x64 = c rows 0`.
    Fix
        Name the operand, with its element type.
    """

    code = "SG109"
    name = "foreign-tensor"


class NumberOutOfRange(Page):
    """A number is zero, negative or too large where that has no meaning.

    What it means
        Counts, shapes, replicas and warps are 1 or more; lags, depths and bytes 0 or more.
    Why it is wrong
        The construct would be empty or undefined.
    Example
        `release tma.empty lag -1`.
    Fix
        `ahead 1` names the next use, `lag 1` the previous one.
    """

    code = "SG110"
    name = "number-out-of-range"


class WrongSide(Page):
    """An op names the wrong barrier of a ring.

    What it means
        `release` works on the empty barrier, `expect` on the full one.
    Why it is wrong
        The other side counts something else.
    Example
        `release tma.full`.
    Fix
        Name the right side; `arrive` takes any barrier.
    """

    code = "SG111"
    name = "wrong-side"


class BadDivisor(Page):
    """An expression divides by something that may be zero.

    What it means
        A divisor is a positive number or `R.stages`.
    Why it is wrong
        The expression might have no value.
    Example
        `acquire tma.full parity (k / 0)`.
    Fix
        Divide by a positive number.
    """

    code = "SG112"
    name = "bad-divisor"


class HiddenName(Page):
    """A loop variable hides a reserved name.

    What it means
        `K`, `self` and `i` have fixed meanings.
    Why it is wrong
        The reader could not tell them apart.
    Example
        `for K in 0..4`.
    Fix
        Call the variable `k`.
    """

    code = "SG113"
    name = "hidden-name"


class BadPipeline(Page):
    """A pipeline string does not parse, or names an unknown pass or option.

    What it means
        A pipeline reads `pass{option=value},pass`.
    Why it is wrong
        It is not clear what to do.
    Example
        `overlap{in-flight=1}`.
    Fix
        `schedgen list` names the passes and their options.
    """

    code = "SG114"
    name = "bad-pipeline"


class Unreadable(Page):
    """An input or output cannot be used.

    What it means
        The name is no kernel and no readable text file, or the output cannot be written.
    Why it is wrong
        There is nothing to work on.
    Example
        `schedgen check hopper_matmul_v55`.
    Fix
        `schedgen list` names the kernels; `-` reads a schedule from standard input.
    """

    code = "SG115"
    name = "unreadable-input"


class BadRequest(Page):
    """An option or argument has a value that means nothing.

    What it means
        A K range is reversed, a size is negative, or rows are no multiple of 16 bytes; a call of
        the builder is given a thing of another kind.
    Why it is wrong
        TMA needs rows of 16 B multiples; an empty range checks nothing.
    Example
        `schedgen check hopper_matmul_v5 --k 5..2`.
    Fix
        Take a value that the sentence allows; `schedgen COMMAND --help` lists what a command takes,
        `help(sg.NAME)` what a call takes.
    """

    code = "SG116"
    name = "bad-request"


class OffsetWithoutUse(Page):
    """A lag or ahead stands on an op that names no use.

    What it means
        Offsets shift the use of a ring, or the phase that an `await` waits for.
    Why it is wrong
        The op would silently ignore it.
    Example
        `fence lag 1`.
    Fix
        Drop the offset.
    """

    code = "SG117"
    name = "offset-without-use"


class ExecutorFixed(Page):
    """A `by` stands on an op that the whole role executes.

    What it means
        mma, commit and sync are collective, and a cursor belongs to the role replica.
    Why it is wrong
        The instruction is aligned over the warp group; half of it has no meaning.
    Example
        `commit by elected`.
    Fix
        Drop `by`.
    """

    code = "SG118"
    name = "executor-fixed"


class BufferBeyondSlot(Page):
    """A buffer is declared inside a ring where there is no room for it.

    What it means
        `in R.SLOT stage EXPR` puts part i of a buffer into the slot at stage EXPR of the ring. The
        slot exists, has no slabs and at least the bytes of a part; the stage is one of the ring's.
    Why it is wrong
        Memory beyond the slot belongs to somebody else.
    Example
        `buffer out[3] : f16 64x256 in tma.B stage i + 2` where the ring has four stages.
    Fix
        Name another slot or stage, or drop `in` and give the buffer memory of its own.
    """

    code = "SG120"
    name = "buffer-beyond-slot"


class BrokenPlugin(Page):
    """A pass or kernel of another distribution cannot be used.

    What it means
        A distribution declares it under `schedgen.passes` or `schedgen.kernels`; it cannot be
        imported, is no pass or schedule, or its name is taken.
    Why it is wrong
        It is not clear what would be done, or by whom.
    Example
        Two distributions that both declare a pass `drop-drain`.
    Fix
        Repair or uninstall the distribution that the message names.
    """

    code = "SG121"
    name = "broken-plugin"


PAGES: tuple[type[Page], ...] = (
    SyntaxFault, DeclarationCount, UnknownName, DuplicateName, NoStages, SlabIndex, OutOfScope,
    UnknownType, ForeignTensor, NumberOutOfRange, WrongSide, BadDivisor, HiddenName, BadPipeline,
    Unreadable, BadRequest, OffsetWithoutUse, ExecutorFixed, BufferBeyondSlot, BrokenPlugin,
)  # fmt: skip
