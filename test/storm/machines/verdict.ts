/** The verdict on the machines of a storm. */
import type { JobRecord, Store } from 'jobchart'
import type { StormOptions } from '../command.ts'
import { spreadOf, type Broken, type Spread } from '../../harness/report.ts'
import { Archive, type Evidence } from './evidence.ts'
import { checkMachine, firedOf } from './promises.ts'

export interface MachineFigures {
  readonly machines: number
  readonly ended: Readonly<Record<string, number>>
  /** Messages that were acknowledged, and those that were there already. */
  readonly messages: number
  readonly repeated: number
  readonly checkpoints: number
  readonly children: number
  readonly compensated: number
  /** Pieces of work that were begun, and how many of them again after a crash. */
  readonly work: number
  readonly workAgain: number
  readonly timers: number
  /** How long after their time they fired: half of them, 99 of 100, the last. */
  readonly lateMs: Spread
}

export async function judgeMachines(
  store: Store,
  options: StormOptions,
  folder: string,
  records: readonly JobRecord[],
): Promise<{ readonly broken: readonly Broken[]; readonly figures: MachineFigures }> {
  const broken: Broken[] = []
  const archive = new Archive(store, options, folder, records)
  const count = { checkpoints: 0, children: 0, compensated: 0, work: 0, workAgain: 0 }
  const late: number[] = []
  const ended: Record<string, number> = {}
  for await (const evidence of archive.all()) {
    const { task, record, stands, children, lines } = evidence
    checkMachine(evidence, (promise, what) => {
      broken.push({ promise, message: `${task.id} (${task.kind}): ${what}`, evidence: story(evidence) })
    })
    const memory = stands.at(-1)?.memory
    if (record !== null) ended[record.state] = (ended[record.state] ?? 0) + 1
    for (const { setAt, delayMs, at } of memory === undefined ? [] : firedOf(memory)) late.push(at - setAt - delayMs)
    const begun = lines.filter(({ kind }) => kind === 'begin').map(({ key }) => key)
    count.checkpoints += stands.at(-1)?.number ?? 0
    count.children += children.length
    if (memory?.compensated === true) count.compensated++
    count.work += begun.length
    count.workAgain += begun.length - new Set(begun).size
  }
  const { kept: messages, duplicate: repeated } = archive.messages
  const figures = { machines: options.machines, ended, messages, repeated, ...count }
  return { broken, figures: { ...figures, timers: late.length, lateMs: spreadOf(late) } }
}

/** All that is known of it, in the order of time. */
function story({ record, stands, lines, children, cancels }: Evidence): string[] {
  const told = [
    ...(record?.history ?? []).map((entry) => ({ at: entry.at, seq: entry.seq, what: JSON.stringify(entry) })),
    ...stands.map(({ at, seq, number, note, memory: { told: numbers, results } }) => {
      return {
        at,
        seq,
        what: `checkpoint ${number}, ${seq}: ${note}; told ${numbers.join(' ')}; ${JSON.stringify(results)}`,
      }
    }),
    ...lines.map(({ at, kind, key, what }) => ({ at, seq: Infinity, what: `${at} ${kind} ${key} ${what}` })),
  ].toSorted((a, b) => a.at - b.at || a.seq - b.seq)
  return [
    `cancels asked: ${cancels}; errors ${JSON.stringify(record?.errors ?? [])}`.slice(0, 500),
    ...told.map(({ what }) => what),
    ...children.map(
      ({ id, type, state, input, output }) => `child ${id} ${type} ${state} ${JSON.stringify({ input, output })}`,
    ),
  ]
}
