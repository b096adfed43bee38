/** Tells what was written of machine jobs, in the very turn in which it was. */
import type { Json, Store } from 'jobchart'

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
        if (answers[i]?.outcome !== 'lost') kept(id, checkpoint.state as unknown as KeptState)
      })
      return answers
    },
    settle(settlements) {
      const answers = store.settle(settlements)
      if (answers instanceof Promise) throw new TypeError('a store that answers at once is needed here')
      settlements.forEach(({ id, checkpoint }, i) => {
        if (answers[i]?.outcome !== 'lost' && checkpoint) kept(id, checkpoint.state as unknown as KeptState)
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
