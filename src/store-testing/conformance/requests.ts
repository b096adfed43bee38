/**
 * What a random command asks of a store, in full: which attempt it names, which checkpoint comes next, as the naive
 * store has it.
 */
import type { ErrorRecord } from '../../core/failure.ts'
import type { NewCheckpoint } from '../../core/machine-record.ts'
import type { Settlement } from '../../core/settlement.ts'
import type { HeartbeatPayload, CheckpointRequest, ClaimedJob, InsertRequest, Lease, SendRequest } from '../../store.ts'
import type { NaiveStore } from '../naive-store.ts'
import {
  machines,
  machineStates,
  machineTags,
  type AttemptPick,
  type Ending,
  type MessagePick,
  type HeartbeatPick,
  type CheckpointPick,
} from './commands.ts'

export class Requests {
  /** All that were handed out. */
  readonly attempts: ClaimedJob[] = []
  private readonly model: NaiveStore
  private families = false

  constructor(model: NaiveStore) {
    this.model = model
  }

  /**
   * Who is superseded takes its children along, and may wake its parent. Whether that makes room for its heir at once,
   * or takes some, is left to the store.
   */
  insert(requests: readonly InsertRequest[]): InsertRequest[] {
    this.families ||= requests.some(({ jobs }) => jobs.some(({ parent }) => parent !== undefined))
    return requests.map(({ jobs, capacity, queue }) => {
      const open = this.families && jobs.some(({ onConflict }) => onConflict === 'supersede')
      return { jobs: structuredClone(jobs), capacity: open ? null : capacity, ...(queue && !open && { queue }) }
    })
  }

  private attempt({ back, forged }: AttemptPick): { id: string; attempt: number; token: string } | null {
    const job = this.attempts.at(-1 - back)
    return job === undefined ? null : { id: job.id, attempt: job.attempt, token: forged ? 'forged' : job.token }
  }

  settlement({ parksMachine, cancelTaken, ...ending }: Ending): Settlement | null {
    const attempt = this.attempt(ending)
    if (attempt === null) return null
    const parks = parksMachine && machines.includes(attempt.id)
    const made = parks ? { ...ending, ...parking } : ending
    const { event, delayMs, fatal, checkin, logs, checkpoint, gather, unsupported } = made
    return {
      ...attempt,
      event,
      to: 'done',
      ...(event === 'COMPLETE' && { output: { of: attempt.token } }),
      ...(event === 'COMPLETE' && cancelTaken && { cancelTaken }),
      ...(event === 'FAIL' && { fatal, error: errorOf(attempt) }),
      ...(event === 'RELEASE' && { reason: 'shutdown' }),
      ...(unsupported ? { unsupported: '2', reason: 'too new' } : delayMs !== null && { delayMs }),
      ...(parks && gather !== null && { gather }),
      ...(checkpoint !== null && { checkpoint: this.newCheckpoint(attempt.id, checkpoint) }),
      ...traces(attempt.attempt, checkin, logs),
    }
  }

  heartbeat({ checkin, logs, step, messages, ...picked }: HeartbeatPick): HeartbeatPayload | null {
    const attempt = this.attempt(picked)
    if (attempt === null) return null
    const steps = step === null ? {} : { steps: Object.fromEntries([[step, { of: attempt.token }]]) }
    const asked = messages === null ? {} : { lastMessageNumber: messages }
    return { ...attempt, ...steps, ...asked, ...traces(attempt.attempt, checkin, logs) }
  }

  checkpoint({ again, read, takesCancel, ...picked }: AttemptPick & CheckpointPick): CheckpointRequest | null {
    const attempt = this.attempt(picked)
    return attempt && { ...attempt, checkpoint: this.newCheckpoint(attempt.id, { again, read, takesCancel }) }
  }

  private newCheckpoint(id: string, { again, read, takesCancel }: CheckpointPick): NewCheckpoint {
    const { checkpoint = null, lastMessageNumber: messages = 0 } = this.model.get([id])[0] ?? {}
    const current = checkpoint?.number ?? 0
    const number = again && current > 0 ? current : current + 1
    const lastRead = { none: 0, half: Math.floor(messages / 2), all: messages }[read]
    const forgets = number % 2 === 0 ? { forgetSteps: ['charge'] } : {}
    const made = {
      number,
      state: { of: id, number },
      read: lastRead,
      note: `GO → ${number}`,
      takesCancel,
      heat: [[`to ${number % 3}`, number] as const],
      ...forgets,
      ...this.left(id, number, lastRead),
    }
    // Every fifth stands nowhere, the others in two states of three and under one of two tags.
    if (number % 5 === 0) return made
    const [outer, ...inner] = machineStates
    return { ...made, states: [outer, inner[number % 2] ?? outer], tags: [machineTags[takesCancel ? 0 : 1]] }
  }

  /**
   * Of the events that it has read, two of three checkpoints defer those with an even number, and drop the others, if
   * they were deferred.
   */
  private left(id: string, number: number, read: number): Pick<NewCheckpoint, 'deferred' | 'dropped'> {
    if (number % 3 === 0) return {}
    const { inbox = [], deferred: before = [] } = this.model.get([id])[0] ?? {}
    const events = inbox.filter(({ message: { kind }, ...each }) => kind === 'event' && each.number <= read)
    const numbers = events.map((entry) => entry.number)
    const deferred = numbers.filter((each) => (before.includes(each) ? each % 3 !== 0 : each % 2 === 0))
    const dropped = numbers
      .filter((each) => !deferred.includes(each))
      .map((each) => ({ number: each, why: before.includes(each) ? 'expired' : 'not taken' }) as const)
    return { ...(deferred.length > 0 && { deferred }), ...(dropped.length > 0 && { dropped }) }
  }

  message({ id, key, expect, resume }: MessagePick): SendRequest {
    const { checkpoint = null, lastMessageNumber: messages = 0 } = this.model.get([id])[0] ?? {}
    const now = { checkpoint: checkpoint?.number ?? 0, lastMessageNumber: messages }
    const expected = { any: null, now, other: { ...now, lastMessageNumber: messages + 1 } }[expect]
    const message = resume ? ({ kind: 'resume' } as const) : ({ kind: 'event', event: { type: key }, key } as const)
    return { id, key, message, expect: expected }
  }
}

const parking = { event: 'PARK', delayMs: null, fatal: false, unsupported: false } as const

const traces = (attempt: number, checkin: boolean, logs: number): Pick<HeartbeatPayload, 'checkin' | 'logs'> => ({
  ...(checkin && { checkin: { at: 1, value: { progress: attempt } } }),
  ...(logs > 0 && { logs: Array.from({ length: logs }, (_, i) => ({ at: 1, attempt, message: `line ${i}` })) }),
})

/** Errors of two groups. */
const errorOf = ({ attempt, token }: Lease): ErrorRecord => ({
  name: attempt % 2 === 1 ? 'Error' : 'TypeError',
  message: `of ${token}`,
})
