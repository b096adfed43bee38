/** What a kill may do to effects: it may repeat what waited in the outbox, and nothing else. */
import type { Told } from './lives.ts'
import type { KeptState } from './spied-store.ts'

export const toldOf = (told: readonly Told[], wanted: 'did' | 'begun' | 'emitted'): string[] =>
  told.flatMap((each) => (each.kind === wanted ? [each.what] : []))

const effectsOf = (told: readonly Told[]): string[] => [...toldOf(told, 'did'), ...toldOf(told, 'emitted')]

/**
 * Each effect happens as often as without kills, and once more at most for each kill while it waited in the outbox.
 * @returns what did not
 */
export function effectProblems(told: readonly Told[], without: readonly Told[]): string[] {
  const least = timesOf(effectsOf(without))
  const most = new Map(least)
  let kept: KeptState | null = null
  for (const each of told) {
    if (each.kind === 'kept') kept = each.state
    if (each.kind !== 'cut') continue
    for (const { kind, type = '', event } of kept?.outbox ?? []) {
      for (const what of most.keys()) {
        // A named action tells of itself with its name first.
        const same = kind === 'emit' ? JSON.stringify(event) === what : what.split(' ')[0] === type || what === type
        if (same) most.set(what, (most.get(what) ?? 0) + 1)
      }
    }
  }
  const times = timesOf(effectsOf(told))
  const unknown = [...times.keys()].filter((what) => !least.has(what)).map((what) => `unknown without a kill: ${what}`)
  const counts = [...least].flatMap(([what, min]) => {
    const count = times.get(what) ?? 0
    const max = most.get(what) as number
    return count >= min && count <= max ? [] : [`${count} times, not ${min} to ${max}: ${what}`]
  })
  return [...unknown, ...counts]
}

function timesOf(effects: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const what of effects) times.set(what, (times.get(what) ?? 0) + 1)
  return times
}
