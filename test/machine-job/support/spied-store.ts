/** Tells what was written of machine jobs, in the very turn in which it was. */
import type { Json, Store } from 'jobchart'
import { withDefaults } from '../../../src/machine-job/state.ts'

/** A checkpoint's state, as far as the tests look at it. */
export interface KeptState {
  readonly snapshot: KeptMachine
  readonly actors: {
    readonly starts: Readonly<Record<string, { readonly counts: Readonly<Record<string, number>> }>>
  }
  readonly outbox: readonly { readonly kind: string; readonly type?: string; readonly event?: Json }[]
}

export interface KeptMachine {
  readonly status: string
  /** Of a durable promise. */
  readonly attempt?: { readonly number: number; readonly delayMs: number | null }
  readonly children?: Readonly<Record<string, { readonly snapshot: KeptMachine }>>
}

/** The state of a checkpoint as it was stored, with what was left out of it. */
export const keptState = (stored: Json): KeptState => withDefaults(stored as never) as unknown as KeptState

export interface Spy {
  readonly kept: (id: string, state: KeptState) => void
  readonly claimed: (id: string) => void
}

export function spiedStore(store: Store, { kept, claimed }: Spy): Store {
  return {
    ...store,
    checkpoint(requests) {
      const answers = store.checkpoint(requests)
      if (answers instanceof Promise) throw new TypeError('a store that answers at once is needed here')
      requests.forEach(({ id, checkpoint }, i) => {
        if (answers[i]?.outcome !== 'lost') kept(id, keptState(checkpoint.state))
      })
      return answers
    },
    settle(settlements) {
      const answers = store.settle(settlements)
      if (answers instanceof Promise) throw new TypeError('a store that answers at once is needed here')
      settlements.forEach(({ id, checkpoint }, i) => {
        if (answers[i]?.outcome !== 'lost' && checkpoint) kept(id, keptState(checkpoint.state))
      })
      return answers
    },
    claim(request) {
      const answer = store.claim(request)
      if (answer instanceof Promise) throw new TypeError('a store that answers at once is needed here')
      for (const { id } of answer.jobs) claimed(id)
      return answer
    },
  }
}
