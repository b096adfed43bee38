/** The part of the script that declares schedules and fires them. */
import type { FireSchedule, Overlap, ScheduleTerms } from '../../../src/store.ts'
import { newJob } from '../../../src/store-testing/conformance/acts.ts'
import { step, together, type Ask, type Step } from './steps.ts'

const { id: _id, runAt: _runAt, delayMs: _delayMs, ...template } = newJob('template', { type: 'tick' })

const terms = (name: string, overlap: Overlap, spec: string): ScheduleTerms => {
  const job = { ...template, key: overlap === 'allow' ? null : `schedule:${name}` }
  const times = { name, spec, timezone: 'UTC', catchUp: 'last', overlap, jitterMs: 0 } as const
  return { ...times, job, computed: false, owner: 'app' }
}

const declare =
  (name: string, overlap: Overlap, spec = '@hourly'): Ask =>
  (store) =>
    store.schedules.put([{ terms: terms(name, overlap, spec), paused: false, nextAt: 1_700_000_000_000 }])

/** Fires with the revision that it was given: asked again, it has another one, and nothing happens. */
const fire =
  (name: string, revision: number, id: string): Ask =>
  async (store) => {
    const job = { ...terms(name, name === 'over' ? 'supersede' : 'allow', '').job, id, runAt: null, delayMs: 0 }
    const advance = { revision, nextAt: 1_700_000_000_000 + revision, missed: 1 }
    const request: FireSchedule = { name, ticks: [{ at: revision, job }], advance }
    return store.schedules.fire([request])
  }

export const schedules: readonly Step[] = [
  step('schedules', together(declare('plain', 'allow'), declare('over', 'supersede'))),
  step('they fire', together(fire('plain', 1, 'plain@1'), fire('over', 1, 'over@1'))),
  step('an earlier revision', fire('plain', 1, 'plain@2')),
  step('a tick that supersedes', fire('over', 2, 'over@2')),
  step('another spec', declare('plain', 'allow', '@daily')),
  step('a schedule is paused', (store) =>
    store.schedules.pause({ name: 'over', revision: 3, paused: true, nextAt: null }),
  ),
  step('a schedule goes', (store) => store.schedules.remove(['plain'])),
]
