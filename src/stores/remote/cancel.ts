/**
 * Cancels: in one commit with all descendants, if these are few. Of a large family at work one job would have changed
 * each time: then the jobs are cancelled first, and their child jobs one generation after the other. Once a parent has
 * ended, the ends of its children leave it as it is.
 */
import { cancel, cancelAlone, childReason, type CancelledAlone } from '../../core/cancel.ts'
import { caps } from '../../core/caps.ts'
import { cancelFailed } from '../../core/failures.ts'
import type { CancelAnswer, CancelRequest, WrittenTransition } from '../../store.ts'
import { changeEach, oneAnswer } from './apart.ts'
import type { RemoteDriver } from './driver.ts'
import { isHeld } from './held.ts'
import { joined, partMax, partsOf, wholeRowsMax } from './parts.ts'
import type { Transaction } from './transaction.ts'
import type { WorkingSet } from './working-set.ts'

/** One commit cancels as many jobs as one call of a client names. */
const weightOf = ({ ids }: CancelRequest): number => (ids.length * partMax) / caps.selection

export const cancelAll = async (driver: RemoteDriver, requests: readonly CancelRequest[]): Promise<CancelAnswer[]> =>
  joined(partsOf(requests, undefined, weightOf), (part) => driver.inTurn(() => cancelPart(driver, part)))

/** Of jobs that are not to be cancelled by one commit with their children. */
class LargeFamily extends Error {
  override readonly name = 'LargeFamily'
}

/** To be called by what `unlessLarge` writes. @throws LargeFamily */
export function checkFamily({ children }: WorkingSet): void {
  if ([...children.values()].flat().length > wholeRowsMax) throw new LargeFamily()
}

/** The answer of a write, or, if nothing was written because a family is large, that of the other way. */
export async function unlessLarge<T>(write: Promise<T>, ifLarge: () => Promise<T>): Promise<T> {
  try {
    return await write
  } catch (error) {
    if (error instanceof LargeFamily) return ifLarge()
    throw error
  }
}

async function cancelPart(driver: RemoteDriver, requests: readonly CancelRequest[]): Promise<CancelAnswer[]> {
  const together = (each: Transaction): CancelAnswer[] => {
    checkFamily(each.set)
    return each.each(requests, (request) => cancel(each.unit, request), cancelFailed)
  }
  const apart = async (): Promise<CancelAnswer[]> => {
    const answers: CancelAnswer[] = []
    for (const request of requests) answers.push(await byGenerations(driver, request))
    return answers
  }
  return unlessLarge(driver.writeInTurn(together, { apart, leavesHeld: true }), apart)
}

async function byGenerations(driver: RemoteDriver, request: CancelRequest): Promise<CancelAnswer> {
  const { commitEach } = driver.server
  const { parents, ...answer } =
    commitEach === undefined
      ? await inParts(driver, request, true)
      : await changeEach(driver, commitEach, request.ids, (each, ids) => cancelIn(each, { ...request, ids }))
  return { ...answer, transitions: [...answer.transitions, ...(await cancelDescendants(driver, parents, request))] }
}

/** Of jobs that were cancelled alone. */
export async function cancelDescendants(
  driver: RemoteDriver,
  parents: readonly string[],
  { graceMs }: Pick<CancelRequest, 'graceMs'>,
): Promise<WrittenTransition[]> {
  const transitions: WrittenTransition[] = []
  let generation = parents
  while (generation.length > 0) {
    // The last ones first: those are the last that start.
    const ids = (await childrenOf(driver, generation)).toReversed()
    const cancelled = await inParts(driver, { graceMs, reason: childReason, ids })
    transitions.push(...cancelled.transitions)
    generation = cancelled.parents
  }
  return transitions
}

/**
 * Several jobs in a commit: children of a parent that goes on all change it. A part of which one has changed meanwhile
 * is done in smaller ones.
 * @param leavesHeld is nothing done if somebody else holds the row of the first one?
 */
async function inParts(
  driver: RemoteDriver,
  { ids, ...request }: CancelRequest,
  leavesHeld = false,
): Promise<CancelledAlone> {
  const answers: CancelledAlone[] = []
  for (let from = 0, size = wholeRowsMax; from < ids.length;) {
    const part = ids.slice(from, from + size)
    const answer = await driver.writeInTurn<CancelledAlone | null>(
      (each) => cancelIn(each, { ...request, ids: part }),
      {
        needs: part.map((id) => ({ kind: 'row', id })),
        leavesHeld: leavesHeld && from === 0,
        ...(part.length > 1 && { instead: () => Promise.resolve(null) }),
      },
    )
    if (answer !== null) {
      if (leavesHeld && from === 0 && isHeld(answer.error)) return answer
      answers.push(answer)
      from += part.length
    }
    size = answer === null ? Math.ceil(part.length / 2) : Math.min(2 * size, wholeRowsMax)
  }
  return oneAnswer(cancelIn(driver.begin(driver.newSet()), { ...request, ids: [] }), answers)
}

function cancelIn(transaction: Transaction, request: CancelRequest): CancelledAlone {
  const [answer] = transaction.each(
    [request],
    () => cancelAlone(transaction.unit, request),
    (error): CancelledAlone => ({ ...cancelFailed(error), parents: [] }),
  )
  return answer as CancelledAlone
}

async function childrenOf(driver: RemoteDriver, parents: readonly string[]): Promise<readonly string[]> {
  const needs = parents.map((id) => ({ kind: 'children', id }) as const)
  const { answer } = await driver.operate(
    ({ set }) => parents.flatMap((id) => set.childrenOf(id)),
    driver.newSet(),
    needs,
  )
  return answer
}
