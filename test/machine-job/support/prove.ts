/**
 * Lives a story without a kill, then with a kill at every write, and holds what must be the same against each other.
 * In the short form each write has two of the four ways to be killed, in turn.
 */
import { expect } from 'vitest'
import { isLong } from '../../harness/long-form.ts'
import type { Cut, CutKind } from './cut-store.ts'
import { effectProblems, toldOf } from './effects.ts'
import { live, type Chronicle, type Story, type Told } from './lives.ts'
import type { KeptMachine, KeptState } from './spied-store.ts'

export interface ProveOptions {
  /** What else must hold for each chronicle. */
  readonly also?: (chronicle: Chronicle, without: Chronicle) => void
}

const kinds: readonly CutKind[] = ['before', 'after']

/** @returns the chronicle without a kill */
export async function prove(story: Story, { also }: ProveOptions = {}): Promise<Chronicle> {
  const without = await live(story)
  expect(without.told.filter(({ kind }) => kind === 'cut')).toEqual([])
  checkBeginnings(without.told)
  also?.(without, without)
  const writes = without.writes[0] as number
  for (let at = 1; at <= writes; at++) {
    for (const kind of kinds) {
      // The next life is left alone, or cut at its first write after its claim: by turns before and after it.
      const next: Cut = { at: 2, kind: (kind === 'after') === (at % 2 === 0) ? 'before' : 'after' }
      for (const [i, cuts] of [[{ at, kind }], [{ at, kind }, next]].entries()) {
        if (!isLong && (i + Number(kind === 'after') + at) % 2 === 1) continue
        const chronicle = await live(story, cuts)
        const where = cuts.map((cut) => `${cut.kind} write ${cut.at}`).join(', ')
        try {
          compare(chronicle, without)
          also?.(chronicle, without)
        } catch (error) {
          throw new Error(`killed ${where}: ${error instanceof Error ? error.message : String(error)}`, {
            cause: error,
          })
        }
      }
    }
  }
  return without
}

function compare(chronicle: Chronicle, without: Chronicle): void {
  const { state, output, error, alive } = without
  expect(alive, 'jobs left without a kill').toBe(0)
  expect({ state: chronicle.state, output: chronicle.output, error: chronicle.error, alive: chronicle.alive }).toEqual({
    state,
    output,
    error,
    alive,
  })
  checkBeginnings(chronicle.told)
  expect(new Set(begunIn(chronicle.told))).toEqual(new Set(begunIn(without.told)))
  expect(effectProblems(chronicle.told, without.told)).toEqual([])
}

export const begunIn = (told: readonly Told[]): string[] => toldOf(told, 'begun')
export const didIn = (told: readonly Told[]): string[] => toldOf(told, 'did')
export const emittedIn = (told: readonly Told[]): string[] => toldOf(told, 'emitted')

/** What begins is active in the checkpoint that was written last: neither decided later, nor finished before. */
function checkBeginnings(told: readonly Told[]): void {
  let kept: KeptState | null = null
  const seen = new Set<string>()
  for (const each of told) {
    if (each.kind === 'kept') kept = each.state
    if (each.kind === 'claimed') seen.clear()
    if (each.kind !== 'begun') continue
    const { what: key } = each
    expect(seen.has(key), `${key} was begun twice in one attempt`).toBe(false)
    seen.add(key)
    const parts = key.split('/')
    const [parent, id, count] = [parts.slice(0, -2).join('/'), parts.at(-2) ?? '', Number(parts.at(-1))]
    expect(kept, `${key} was begun before a checkpoint`).not.toBeNull()
    expect(kept?.actors.starts[parent]?.counts[id] ?? 1, `starts of ${id} in ${parent}`).toBe(count)
    expect(childAt(kept?.snapshot, parts)?.status, `${key} in the checkpoint`).toBe('active')
  }
}

/** Every other part of an address is an id. */
function childAt(machine: KeptMachine | undefined, address: readonly string[]): KeptMachine | undefined {
  let at = machine
  for (let i = 0; i < address.length; i += 2) at = at?.children?.[decodeURIComponent(address[i] ?? '')]?.snapshot
  return at
}
