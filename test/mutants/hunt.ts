/** Injects faults one after the other into this process, and looks which case notices. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Injection } from '../support/faults.ts'

export type Cases = ReadonlyMap<string, () => Promise<void>>

export interface Mutant {
  readonly name: string
  readonly fault: Injection
  /** The case that notices; others are looked at if it does not. */
  readonly noticedBy: string
}

export interface Sighting {
  readonly mutant: Mutant
  /** The first case that noticed; null if none did. */
  readonly noticedBy: string | null
  readonly seconds: number
}

/** A case that takes longer than this, and so many times as long as without a fault, hangs: that is noticed too. */
const hangs = { ms: 3_000, times: 10 }
/** Without a fault. */
const soundMsMax = 60_000

/** @returns does the case fail, or take longer than `msMax`, or is an error thrown outside of it? */
async function fails(run: () => Promise<void>, msMax: number): Promise<boolean> {
  let stray = false
  const seen = (): void => void (stray = true)
  process.on('unhandledRejection', seen)
  process.on('uncaughtException', seen)
  const over = new AbortController()
  const late = pause(msMax, true, { signal: over.signal }).catch(() => true)
  try {
    return (await Promise.race([run().then(() => false), late])) || stray
  } catch {
    return true
  } finally {
    over.abort()
    process.off('unhandledRejection', seen)
    process.off('uncaughtException', seen)
  }
}

const wordsOf = (text: string): Set<string> => new Set(text.match(/[a-z]{3,}/g))

/** Those first whose names have most words of the text. */
function likelyFirst(text: string, names: Iterable<string>): string[] {
  const words = wordsOf(text)
  const alike = new Map([...names].map((name) => [name, wordsOf(name).intersection(words).size]))
  return [...alike.keys()].toSorted((a, b) => (alike.get(b) ?? 0) - (alike.get(a) ?? 0))
}

/**
 * Looks for each mutant, and tells of each as soon as it is known.
 * @param others are all other cases looked at if the one that notices does not?
 * @param msOf how long cases take without a fault
 */
export async function hunt(
  mutants: readonly Mutant[],
  cases: Cases,
  others: boolean,
  msOf: ReadonlyMap<string, number> = new Map(),
  tell: (sighting: Sighting) => void = () => {},
): Promise<Sighting[]> {
  const sightings: Sighting[] = []
  for (const mutant of mutants) {
    const start = performance.now()
    const { on, off } = await mutant.fault()
    const names = new Set([mutant.noticedBy, ...(others ? likelyFirst(mutant.name, cases.keys()) : [])])
    let noticedBy: string | null = null
    for (const name of names) {
      const run = cases.get(name)
      if (run === undefined) continue
      on()
      const noticed = await fails(run, Math.max(hangs.ms, hangs.times * (msOf.get(name) ?? 0)))
      off()
      if (!noticed) continue
      noticedBy = name
      break
    }
    const sighting = { mutant, noticedBy, seconds: (performance.now() - start) / 1_000 }
    sightings.push(sighting)
    tell(sighting)
  }
  return sightings
}

export interface Sound {
  /** Cases that fail although nothing is wrong: with them nothing would be proved. Names of no case are among them. */
  readonly failed: readonly string[]
  /** How long the others took, ms. */
  readonly msOf: ReadonlyMap<string, number>
}

/** Runs these cases without any fault. */
export async function runSound(names: Iterable<string>, cases: Cases): Promise<Sound> {
  const failed: string[] = []
  const msOf = new Map<string, number>()
  for (const name of new Set(names)) {
    const run = cases.get(name)
    const start = performance.now()
    if (run === undefined) failed.push(`there is no case ${JSON.stringify(name)}`)
    else if (await fails(run, soundMsMax)) failed.push(name)
    else msOf.set(name, performance.now() - start)
  }
  return { failed, msOf }
}
