/** Recorded lives in files, and the result of their replay in words. */
import { counted, grouped } from '../core/counted.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { createClient, type Client, type JobDefinition } from '../index.ts'
import { invalidOption } from '../core/errors.ts'
import { eventInWords } from '../core/event-words.ts'
import { recordLives, replayLives, type ReplayReport } from '../core/lives.ts'
import type { RecordedLife } from '../core/recorded-life.ts'
import { oneLine } from './words.ts'

const typesOf = (definitions: readonly JobDefinition[]): string[] => [
  ...new Set(definitions.filter(({ machine }) => machine !== null).map(({ type }) => type)),
]

/** The lives of a store. */
export const livesOf = (
  client: Client,
  definitions: readonly JobDefinition[],
  max: number | undefined,
): Promise<readonly RecordedLife[]> => recordLives(client, typesOf(definitions), max)

/** Only the owner can read the file: it holds inputs, contexts and events. */
export const writeLives = (file: string, lives: readonly RecordedLife[]): void =>
  writeFileSync(file, JSON.stringify({ format: 1, lives }), { mode: 0o600 })

/** Several versions of a machine are one runner in the list of a client. */
export const replayOf = (
  definitions: readonly JobDefinition[],
  lives: readonly RecordedLife[],
): Promise<ReplayReport> | ReplayReport => replayLives(createClient({ jobs: definitions }).jobs.values(), lives)

/** @param file that `writeLives` wrote */
export function livesIn(file: string): readonly RecordedLife[] {
  const hint = 'Name a file that `jobchart check --record FILE` has written.'
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw invalidOption('--replay', `a file of recorded lives (${String(error)})`, file, hint)
  }
  const { format, lives } = (content ?? {}) as { readonly format?: unknown; readonly lives?: unknown }
  if (format !== 1 || !Array.isArray(lives)) throw invalidOption('--replay', 'a file of recorded lives', file, hint)
  return lives as readonly RecordedLife[]
}

const divergencesMax = 20

/** Lines about a replay. */
export function* replayLines({ lives, reached, skipped, diverged, unknownTypes }: ReplayReport): Iterable<string> {
  for (const { id, type, checkpoint, events, expected, reached: states, reason } of diverged.slice(0, divergencesMax)) {
    const what = reason === null ? `${states.join(' ')} instead of ${expected.join(' ')}` : reason
    yield `✗ ${oneLine(type)} ${oneLine(id)}, checkpoint ${checkpoint}, ${oneLine(events.map(eventInWords).join(', '))}: ${oneLine(what)}`
  }
  if (diverged.length > divergencesMax) yield `  and ${diverged.length - divergencesMax} more`
  const all = counted(lives, 'life', 'lives')
  const steps = counted(reached, 'checkpoint')
  const part = skipped === 0 ? '' : `, ${counted(skipped, 'checkpoint')} skipped`
  if (diverged.length === 0) yield `✓ ${all} replayed, ${steps} reached${part}`
  else yield `${grouped(diverged.length)} of ${all} went another way; ${steps} reached${part}`
  if (unknownTypes.length > 0) yield `- not replayed, no machine is defined: ${unknownTypes.map(oneLine).join(', ')}`
}
