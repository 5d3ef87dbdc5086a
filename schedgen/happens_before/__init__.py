"""The checker: unroll a schedule, fix what matches what by counting, order it, judge it.

Reading order: `unroll` (op instances), `groups` and `record` (async groups, events, phases),
`matching` (the counting run and the event graph, with the formal definition and the theorem),
`case` (one K under judgement).  Then the obligations: `counting` (P2-P6, P1's surplus), `progress`
(P1's lack, deadlocks), `blame` (names for both), `accesses` and `races` (intervals), `registers`
(accumulators, fences, exit), `products` (coverage), `staging` and `limits` (what holds for every
K).  Then `causes` (causes apart from consequences) and `judge` (the verdict); `kept` compares
schedules for passes.
"""
