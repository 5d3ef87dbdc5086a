"""The checker: unroll a schedule, fix what matches what by counting, order it, judge it.

Reading order: `facts` and `unroll` (op instances), `groups` and `record` (async groups, events,
phases), `counting_run` (what is executed), `matching` (the event graph, with the formal definition
and the theorem), `case` (one K, or a part of it, under judgement).  Then the obligations:
`counting` (P2-P6, P1's surplus), `progress` (P1's lack, deadlocks), `blame` (names for both),
`accesses` and `races` (intervals), `registers` (accumulators, fences, exit), `products` (coverage),
`staging` and `limits` (what holds for every K).  Then `forking` (what many K have in common is
judged once), `causes` (causes apart from consequences) and `judge` (the verdict); `kept` compares
schedules for passes.
"""
