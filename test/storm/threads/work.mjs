/** A handler in a thread that does what its input says: work, or what ends a thread. */
import { fatal, snooze, threadHandler } from 'jobchart/thread'

const until = (at) => {
  while (performance.now() < at);
}

const acts = {
  compute: ({ ms }, { checkin }) => {
    for (let done = 0; done < ms; done++) {
      until(performance.now() + 1)
      checkin({ done })
    }
    return { ms }
  },
  // A loop without await sees the abort at its check-ins, and in `ctx.signal`.
  obey: ({ ms }, context) => {
    const end = performance.now() + ms
    while (performance.now() < end) context.signal.throwIfAborted()
    return { ms }
  },
  steps: async (_, { step, attempt }) => {
    const first = await step('first', () => ({ attempt }))
    if (attempt === 1) throw new Error('after the first step')
    return { first, second: await step('second', () => undefined) }
  },
  fail: () => {
    throw Object.assign(new TypeError('as told'), { code: 'TOLD', cause: new Error('the cause') })
  },
  fatal: () => {
    throw fatal(new RangeError('for good'))
  },
  snooze: (_, { log }) => {
    log('not now', { again: true })
    throw snooze(10)
  },
  // What ends a thread:
  exit: ({ code = 3 }) => process.exit(code),
  crash: () =>
    new Promise(() => {
      setTimeout(() => {
        throw new Error('outside the handler')
      })
    }),
  reject: () =>
    new Promise(() => {
      void Promise.reject(new Error('nobody listens'))
    }),
  fill: () => {
    const kept = []
    for (;;) kept.push(Array.from({ length: 10_000 }, () => ({})))
  },
  loop: () => {
    for (;;);
  },
  hang: () => new Promise(() => {}),
  unclonable: () => () => {},
  unreadable: () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    throw proxy
  },
  echo: ({ value }, { id, type, attempt, maxAttempts, deadline }) => ({
    value,
    id,
    type,
    attempt,
    maxAttempts,
    deadline,
  }),
}

export default threadHandler((input, context) => acts[input.act](input, context))
