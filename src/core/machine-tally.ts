/** Numbers of jobs by the states and tags of their machines, or changes of such numbers. */
import type { MachineCounts } from './figures.ts'

/** State paths and tags of a machine at its last checkpoint, each once. */
export interface MachineStanding {
  readonly states: readonly string[]
  readonly tags: readonly string[]
}

export type MachineNameKind = 'state' | 'tag'

export class MachineTally {
  private readonly byState: Map<string, number>
  private readonly byTag: Map<string, number>
  private readonly byOutcome: Map<string, number>

  constructor({ states = {}, tags = {}, outcomes = {} }: Partial<MachineCounts> = {}) {
    this.byState = new Map(Object.entries(states))
    this.byTag = new Map(Object.entries(tags))
    this.byOutcome = new Map(Object.entries(outcomes))
  }

  /** So many jobs more, or fewer, with these states and tags. */
  add({ states, tags }: MachineStanding, by: number): void {
    for (const name of states) addTo(this.byState, name, by)
    for (const name of tags) addTo(this.byTag, name, by)
  }

  /** One more machine that has ended so. */
  addOutcome(outcome: string): void {
    addTo(this.byOutcome, outcome, 1)
  }

  counts(): MachineCounts {
    const [states, tags, outcomes] = [this.byState, this.byTag, this.byOutcome].map((each) => Object.fromEntries(each))
    return { states: states ?? {}, tags: tags ?? {}, outcomes: outcomes ?? {} }
  }

  /** The numbers that are not 0. */
  *entries(): Generator<[kind: MachineNameKind | 'outcome', name: string, count: number]> {
    for (const [name, count] of this.byState) yield ['state', name, count]
    for (const [name, count] of this.byTag) yield ['tag', name, count]
    for (const [name, count] of this.byOutcome) yield ['outcome', name, count]
  }
}

function addTo(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}
