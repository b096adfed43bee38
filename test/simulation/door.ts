/**
 * The store's own door: every call that changes something is told to the ledger, in the order in which they took
 * effect.
 */
import type { Store } from 'jobchart'
import type { Answer, WrittenTransition } from '../../src/store.ts'
import type { Extension, Ledger } from './ledger.ts'
import type { MadeStore } from './stores.ts'

const nothing = (): void => {}

export function door({ store, atOnce }: Pick<MadeStore, 'store' | 'atOnce'>, ledger: Ledger): Store {
  let last: Promise<void> = Promise.resolve()
  const see = <T>(call: () => Answer<T>, look: (answer: T) => void): Answer<T> => {
    const seen = (value: T): T => {
      look(value)
      return value
    }
    const go = (): Answer<T> => {
      const answer = call()
      return answer instanceof Promise ? answer.then(seen) : seen(answer)
    }
    if (atOnce) return go()
    // A store that takes its time is asked one thing after the other, so that it is known what came first.
    const answer = last.then(go)
    last = answer.then(nothing, nothing)
    return answer
  }
  const swept = ({ transitions }: { readonly transitions: readonly WrittenTransition[] }): void => {
    for (const transition of transitions) ledger.moved(transition, store.now())
  }
  return {
    ...store,
    insert: (requests) => {
      const call = () => store.insert(requests)
      return see(call, (answers) => ledger.inserted(requests, answers))
    },
    claim: (request) => {
      const call = () => store.claim(request)
      return see(call, (answer) => ledger.claimed(request, answer, store.now()))
    },
    settle: (settlements) => {
      const call = () => store.settle(settlements)
      return see(call, (answers) => ledger.settled(settlements, answers))
    },
    extend: async (request) => {
      // Even a store that works at once answers this a little later, when others may have done something else.
      let before: Extension = { now: 0, held: [] }
      const call = () => {
        before = ledger.extends(request, store.now())
        return store.extend(request)
      }
      return see(call, (answers) => ledger.extended(request, before, answers))
    },
    cancel: (requests) => {
      const call = () => store.cancel(requests)
      return see(call, (answers) => answers.forEach(swept))
    },
    bulk: {
      ...store.bulk,
      start: (request) => see(() => store.bulk.start(request), swept),
      advance: (request) => see(() => store.bulk.advance(request), swept),
    },
    retry: (ids) => see(() => store.retry(ids), swept),
    promote: (limit) => see(() => store.promote(limit), swept),
    rescue: (limit) => see(() => store.rescue(limit), swept),
    queue: async (type, change) => {
      if (change === undefined) return store.queue(type)
      let asked = { ...change, change: 0 }
      const call = () => {
        asked = { ...change, change: ledger.queueChanges(type, change.paused) }
        return store.queue(type, change)
      }
      return see(call, ({ paused }) => ledger.queueChanged(type, asked, paused))
    },
  }
}
