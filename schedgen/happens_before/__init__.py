"""The checker: unroll a schedule, fix what matches what by counting, order it, judge it.

Reading order: `unroll` (op instances), `matching` (the counting run and the event graph, with the
formal definition and the theorem), `counting` (P1-P6), `accesses` and `races` (intervals),
`products` (coverage), `limits` (what the target can hold), `judge` (the verdict).
"""
