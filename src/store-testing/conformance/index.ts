/**
 * The suite that holds an implementation of Store to its contract. It registers its cases with whatever test function
 * it is given, so that any runner will do, and every store, ours or not, can prove itself.
 */
import { activityCases } from './activity.ts'
import { againCases } from './again.ts'
import { bulkCases } from './bulk.ts'
import { cancelCases } from './cancel.ts'
import { childrenCases } from './children.ts'
import { claimCases } from './claim.ts'
import { keyTermsCases } from './key-terms.ts'
import { shareCases } from './shares.ts'
import { confirmCases } from './confirm.ts'
import { deathCases } from './death.ts'
import { deferredCases } from './deferred.ts'
import { extendCases } from './extend.ts'
import { failingItemCases } from './failing-items.ts'
import { failureCases } from './failures.ts'
import { familyCancelCases } from './family-cancel.ts'
import { gentleCancelCases } from './gentle-cancel.ts'
import { handOverCases } from './hand-over.ts'
import { insertCases } from './insert.ts'
import { messageCases } from './inbox.ts'
import { logCases } from './log.ts'
import { machineAgainCases } from './machine-again.ts'
import { heatCases } from './heat.ts'
import { machineCountCases } from './machine-counts.ts'
import { machineCases } from './machine.ts'
import { agreesWithTheModel, type RandomRuns } from './random.ts'
import { readingCases } from './reading.ts'
import { scheduleCases } from './schedules.ts'
import { settleCases } from './settle.ts'
import type { Cases, Subject } from './subject.ts'
import { successionCases } from './succession.ts'
import { timeCases } from './time.ts'
import { uniqueCases } from './unique.ts'
import { unsupportedCases } from './unsupported.ts'
import { watchCases } from './watch.ts'

export type { Subject } from './subject.ts'

export interface ConformanceOptions {
  /** The store's name, for the names of the cases. */
  readonly name: string
  /** Makes a store for one case: empty, open, with a clock that can be moved. */
  readonly create: () => Promise<Subject>
  /** `test` of vitest, node:test, or any other runner. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Cases this store cannot pass, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>
  /** The random sequences; default: 200 sequences of 60 commands, from seed 1. */
  readonly random?: Partial<RandomRuns>
}

const groups: Readonly<Record<string, Cases>> = {
  insert: insertCases,
  'hand-over': handOverCases,
  unique: uniqueCases,
  succession: successionCases,
  claim: claimCases,
  shares: shareCases,
  'key terms': keyTermsCases,
  settle: settleCases,
  death: deathCases,
  confirm: confirmCases,
  extend: extendCases,
  'failing items': failingItemCases,
  cancel: cancelCases,
  again: againCases,
  bulk: bulkCases,
  machine: machineCases,
  'machine again': machineAgainCases,
  'machine counts': machineCountCases,
  heat: heatCases,
  messages: messageCases,
  'deferred events': deferredCases,
  'gentle cancel': gentleCancelCases,
  children: childrenCases,
  'family cancel': familyCancelCases,
  time: timeCases,
  reading: readingCases,
  log: logCases,
  activity: activityCases,
  failures: failureCases,
  schedules: scheduleCases,
  unsupported: unsupportedCases,
  watch: watchCases,
}

const randomCase = 'random sequences agree with the naive model'

/**
 * Registers every case.
 * @throws Error if a case to skip does not exist, or is skipped without a reason
 * @example
 * storeConformance({ name: 'memory', create, test })
 */
export function storeConformance({ name, create, test, skip = {}, random = {} }: ConformanceOptions): void {
  const runs = { seed: 1, sequences: 200, commands: 60, ...random }
  const cases = new Map<string, () => Promise<void>>()
  for (const [group, members] of Object.entries(groups)) {
    for (const [sentence, run] of Object.entries(members)) cases.set(`${group}: ${sentence}`, () => on(create, run))
  }
  cases.set(randomCase, () => agreesWithTheModel(create, runs))
  for (const [sentence, reason] of Object.entries(skip)) {
    if (!cases.delete(sentence))
      throw new Error(`storeConformance: there is no case ${JSON.stringify(sentence)} to skip`)
    if (reason.trim() === '')
      throw new Error(`storeConformance: no reason is given to skip ${JSON.stringify(sentence)}`)
  }
  for (const [sentence, run] of cases) test(`${name}: ${sentence}`, run)
}

async function on(create: () => Promise<Subject>, run: Cases[string]): Promise<void> {
  const subject = await create()
  try {
    await run(subject)
  } finally {
    await subject.close()
  }
}
