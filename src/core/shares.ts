/**
 * How the concurrency keys of a queue share its claims by their weights: stride scheduling, in the form of self-clocked fair
 * queueing (Golestani, 1994), which needs to know nothing of a key that has no work.
 *
 * A queue has a virtual clock, which begins at 0. A key that has work has a start: what the clock showed when the key got work
 * (its first queued job) or was last claimed from. Its finish is its start plus 1 / weight of its first job. The key with the
 * least finish is claimed from; of equal ones the key whose first job goes first. The claim sets the clock, and the start of
 * the key, to that finish.
 *
 * Invariant: no start is later than the clock. So a key that runs out of work and gets some again begins where it would
 * have gone on, or later: it gains no credit meanwhile. A key that a cap or a rate has kept back may have a finish that the
 * clock has passed: it is claimed from first, and goes on at the clock. Its credit is one claim.
 */

/** Of jobs whose enqueue has not given a weight. */
export const defaultKeyWeight = 1

/** The greatest weight of a key. */
export const keyWeightMax = 100_000

/** Where a key is in the order of the claims. */
export const finishOf = (start: number, weight: number): number => start + 1 / weight

/** The clock, and the start of the key, after a claim from a key. */
export const clockAfter = (clock: number, finish: number): number => Math.max(clock, finish)
