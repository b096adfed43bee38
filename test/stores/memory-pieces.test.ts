/** The pieces of the memory store, each against the plain way to do what it does. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/core/clock.ts'
import { settle } from '../../src/core/settle.ts'
import { Heap } from '../../src/core/heap.ts'
import { caps } from '../../src/core/caps.ts'
import { Tables } from '../../src/stores/memory/tables.ts'
import { Tick } from '../../src/core/job-row.ts'
import { Unit } from '../../src/core/unit.ts'
import { claim } from '../../src/stores/memory/claim.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { PriorityQueue } from '../../src/stores/memory/priority-queue.ts'
import { readyPhase } from '../../src/stores/memory/phases.ts'
import { Queue } from '../../src/stores/memory/queue.ts'
import { RateWindow } from '../../src/stores/memory/rate.ts'
import { RowTable } from '../../src/stores/memory/row-table.ts'
import { Row } from '../../src/stores/memory/row.ts'
import { Timers } from '../../src/stores/memory/timers.ts'
import { idsOf, newJob, noLimits, put, take } from '../../src/store-testing/conformance/acts.ts'
import { everyPage } from '../../src/store-testing/conformance/side-by-side.ts'
import { handClock } from './hand-clock.ts'

const queue = new Queue<Row>('mail')
const row = (seq: number, id = `job ${seq}`, priority = 0): Row => {
  const job = newJob(id, { priority })
  return new Row(job, queue.termsOf(job), readyPhase.name, seq, new Tick(0), queue)
}

test('a heap gives its items in order, whatever was pushed, moved or removed meanwhile', () => {
  const operation = fc.tuple(fc.constantFrom('push', 'pop', 'remove', 'update'), fc.nat(20), fc.nat(20))
  const property = fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
    const heap = new Heap<{ heapIndex: number; weight: number; n: number }>(
      (a, b) => a.weight < b.weight || (a.weight === b.weight && a.n < b.n),
    )
    const plain: { heapIndex: number; weight: number; n: number }[] = []
    const sorted = () => plain.toSorted((a, b) => a.weight - b.weight || a.n - b.n)
    for (const [n, [what, which, weight]] of operations.entries()) {
      const item = plain[which % Math.max(1, plain.length)]
      if (what === 'push') {
        const added = { heapIndex: -1, weight, n }
        plain.push(added)
        heap.push(added)
      } else if (what === 'pop') {
        const first = sorted()[0]
        expect(heap.pop()).toBe(first)
        if (first !== undefined) plain.splice(plain.indexOf(first), 1)
      } else if (item !== undefined && what === 'remove') {
        plain.splice(plain.indexOf(item), 1)
        heap.remove(item)
        expect(item.heapIndex).toBe(-1)
      } else if (item !== undefined) {
        item.weight = weight
        heap.update(item)
      }
      expect(heap.peek()).toBe(sorted()[0])
      expect(heap.size).toBe(plain.length)
    }
  })
  fc.assert(property, { numRuns: 300 })
})

test('timers are in the order of their times from any position on, whatever was added or removed meanwhile', () => {
  type Timed = { readonly seq: number; readonly wakeAt: number | null }
  const timers = new Timers<Timed>()
  const earlier = (a: Timed, b: Timed): number => (a.wakeAt ?? 0) - (b.wakeAt ?? 0) || a.seq - b.seq
  const random = seededRandom(7)
  let plain: Timed[] = []
  const check = (): void => {
    const sorted = plain.toSorted(earlier)
    expect(timers.peek()).toBe(sorted[0])
    const at = { dueAt: Math.floor(random() * 60), number: Math.floor(random() * 6_000) }
    const side = (row: Timed): number => earlier(row, { wakeAt: at.dueAt, seq: at.number })
    expect([...timers.after(null)]).toEqual(sorted)
    expect([...timers.before(null)]).toEqual(sorted.toReversed())
    expect([...timers.after(at)]).toEqual(sorted.filter((row) => side(row) > 0))
    expect([...timers.before(at)]).toEqual(sorted.filter((row) => side(row) < 0).toReversed())
  }
  check()
  // Grows over many chunks, then shrinks until none is left.
  for (let seq = 1; seq <= 6_000; seq++) {
    const row = { seq, wakeAt: seq % 4 === 0 ? null : Math.floor(random() * 60) }
    if (row.wakeAt === null) timers.remove(row, null)
    else timers.add(row)
    if (row.wakeAt !== null) plain.push(row)
    if (seq % 500 === 0) check()
  }
  while (plain.length > 0) {
    const leaving = new Set(plain.filter(() => plain.length < 10 || random() < 0.4))
    for (const row of leaving) timers.remove(row, row.wakeAt)
    plain = plain.filter((row) => !leaving.has(row))
    check()
  }
  expect(() => timers.remove({ seq: 1, wakeAt: 1 }, 1)).toThrow('not among the timers')
})

test('a line gives by priority, then by place, also what comes back to an old place', () => {
  const operation = fc.tuple(
    fc.constantFrom('add', 'take', 'return', 'remove'),
    fc.nat(50),
    fc.integer({ min: -2, max: 2 }),
  )
  const property = fc.property(fc.array(operation, { maxLength: 200, size: 'max' }), (operations) => {
    const line = new PriorityQueue<Row>()
    const inside: Row[] = []
    const taken: Row[] = []
    const sorted = () => inside.toSorted((a, b) => b.priority - a.priority || a.place - b.place)
    for (const [i, [what, which, priority]] of operations.entries()) {
      const back = taken[which % Math.max(1, taken.length)]
      const leaving = what === 'take' ? line.first : inside[which % Math.max(1, inside.length)]
      if (what === 'add') {
        const added = row(i + 1, undefined, priority)
        inside.push(added)
        line.add(added)
      } else if (what === 'return' && back !== undefined) {
        taken.splice(taken.indexOf(back), 1)
        inside.push(back)
        line.add(back)
      } else if (what !== 'return' && leaving) {
        inside.splice(inside.indexOf(leaving), 1)
        line.remove(leaving)
        taken.push(leaving)
      }
      expect(line.first).toBe(sorted()[0] ?? null)
    }
    for (const next of sorted()) {
      expect(line.first).toBe(next)
      line.remove(next)
    }
    expect(line.first).toBe(null)
  })
  fc.assert(property, { numRuns: 500 })
})

test('a row table finds by id and walks by seq, through thousands of gaps', () => {
  const table = new RowTable()
  const plain = new Map<string, Row>()
  let seq = 0
  const walked = (from: number) => Array.from(table.after(from), ({ id }) => id)
  const walkedBack = (from: number) => Array.from(table.before(from), ({ id }) => id)
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 200; i++) {
      // Every third number is used, so that walks also start between two rows.
      const added = row((seq += 3), `${round % 2 === 0 ? 'a' : 'an order of '}${seq}`)
      table.add(added)
      plain.set(added.id, added)
    }
    const doomed = [...plain.values()].filter((_, i) => (i * 7919 + round) % 10 < (round < 30 ? 5 : 9))
    for (const each of doomed) {
      table.remove(each)
      plain.delete(each.id)
    }
    expect(table.size).toBe(plain.size)
    for (const each of doomed.slice(0, 50)) expect(table.get(each.id)).toBe(undefined)
    for (const each of plain.values()) expect(table.get(each.id)).toBe(each)
    for (const from of [0, 1, Math.floor(seq / 2), seq - 1, seq]) {
      expect(walked(from)).toEqual(idsOf([...plain.values()].filter((each) => each.seq > from)))
      expect(walkedBack(from)).toEqual(idsOf([...plain.values()].filter((each) => each.seq < from)).toReversed())
    }
  }
})

test('a row table finds its rows while others go in the order in which they came, but for a few', () => {
  const table = new RowTable()
  const plain = new Map<string, Row>()
  let seq = 0
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 500; i++) {
      const added = row(++seq)
      table.add(added)
      plain.set(added.id, added)
    }
    // In every fourth round one row in 90 stays: the others then leave gaps behind it, not only before the first row.
    const kept = round < 20 ? 1_200 : 300
    for (const [i, each] of [...plain.values()].slice(0, Math.max(0, plain.size - kept)).entries()) {
      if (round % 4 === 3 && i % 90 === 0) continue
      table.remove(each)
      plain.delete(each.id)
      expect(table.get(each.id)).toBe(undefined)
    }
    expect(table.size).toBe(plain.size)
    for (const each of plain.values()) expect(table.get(each.id)).toBe(each)
    for (const from of [0, Math.floor(seq / 2), seq - kept, seq]) {
      const after = [...plain.values()].filter((each) => each.seq > from)
      expect(Array.from(table.after(from), ({ id }) => id)).toEqual(idsOf(after))
    }
  }
})

test('a rate window counts what lies in it, and knows when the next claim is free, whatever the limit becomes', () => {
  const operation = fc.tuple(fc.nat(30), fc.nat(8), fc.integer({ min: 1, max: 6 }))
  const property = fc.property(fc.array(operation, { maxLength: 100, size: 'max' }), (operations) => {
    const perMs = 50
    const window = new RateWindow()
    let claims: number[] = []
    let now = 0
    for (const [wait, wanted, limit] of operations) {
      now += wait
      claims = claims.filter((at) => at > now - perMs)
      const free = Math.max(0, limit - claims.length)
      expect(window.free({ limit, perMs }, now)).toBe(free)
      for (let i = 0; i < Math.min(wanted, free); i++) {
        window.spend(now)
        claims.push(now)
      }
      const leaving = claims.at(-limit)
      if (leaving !== undefined) expect(window.freeAt({ limit, perMs }, now)).toBe(leaving + perMs)
    }
  })
  fc.assert(property, { numRuns: 300 })
})

test('a rate window forgets what has left it, and nothing else', () => {
  const window = new RateWindow()
  for (let now = 0; now < 20_000; now++) {
    const inside = Math.min(now, 99)
    expect(window.free({ limit: 1_000, perMs: 100 }, now)).toBe(1_000 - inside)
    window.spend(now)
  }
  expect(JSON.stringify(window).length).toBeLessThan(20_000)
})

test('the transition log keeps its last entries, and says what was lost', async () => {
  const store = memoryStore({ clock: handClock(), transitionsMax: 5 })
  await put(store, ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => newJob(id)))
  const all = await store.transitions(null, 100)
  expect([idsOf(all.transitions), all.lost]).toEqual([['c', 'd', 'e', 'f', 'g'], true])
  const kept = await store.transitions('2', 100)
  expect([idsOf(kept.transitions), kept.lost, kept.next]).toEqual([['c', 'd', 'e', 'f', 'g'], false, '7'])
  const page = await store.transitions('1', 2)
  expect([idsOf(page.transitions), page.lost, page.next]).toEqual([['c', 'd'], true, '4'])
  expect(() => memoryStore({ transitionsMax: 0 })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('a job that is released for ever carries no more history than twice the cap, and its last attempts alone', () => {
  const tables = new Tables(10)
  const unit = new Unit(tables, tables)
  unit.insert(newJob('a'), readyPhase.name, null)
  const added = unit.find('a')
  const demand = [{ type: 'mail', max: 1, limits: noLimits }]
  for (let i = 0; i < 5_000; i++) {
    unit.now = tables.now = i
    claim(unit, tables, { worker: 'w1', token: `t${i}`, leaseMs: 1_000, demand }, i)
    settle(unit, { id: 'a', attempt: 1, token: `t${i}`, event: 'RELEASE', to: 'queued' })
  }
  let steps = 0
  for (let step = added?.last ?? null; step !== null; step = step.before) steps++
  expect(steps).toBeGreaterThanOrEqual(caps.history)
  expect(steps).toBeLessThanOrEqual(2 * caps.history)
})

test('the few that run are listed in the order in which they came, among the many that wait', async () => {
  const store = memoryStore({ clock: handClock() })
  await put(store, ...Array.from({ length: 200 }, (_, i) => newJob(`job ${i}`, { priority: i % 100 })))
  await take(store, { max: 6 })
  const running = ['job 97', 'job 98', 'job 99', 'job 197', 'job 198', 'job 199']
  expect(idsOf(await everyPage(store, { state: 'running' }, 2))).toEqual(running)
  expect(idsOf(await store.list({ state: ['running', 'dead'], after: 'job 150' }))).toEqual(running.slice(3))
})

test('a store adopts the clock of its first host, unless it has one of its own', async () => {
  const adopted = memoryStore()
  await adopted.open({ clock: handClock(1_000) })
  await adopted.open({ clock: handClock(2_000) })
  expect(adopted.now()).toBe(1_000)
  const own = memoryStore({ clock: handClock(3_000) })
  await own.open({ clock: handClock(1_000) })
  expect(own.now()).toBe(3_000)
})

test('calls take effect in the order in which they are made, awaited or not', async () => {
  const store = memoryStore({ clock: handClock() })
  const inserting = put(store, newJob('a'), newJob('b'))
  const cancelling = store.cancel([{ ids: ['a'], reason: null, graceMs: 0 }])
  const claiming = take(store)
  expect([(await inserting).length, (await cancelling)[0]?.cancelled, idsOf(await claiming)]).toEqual([2, ['a'], ['b']])
})

test('a hint for each type comes once per call, with how many are claimable at most', async () => {
  const store = memoryStore({ clock: handClock() })
  const hints: unknown[] = []
  store.watch((hint) => hints.push(hint))
  await put(store, newJob('a'), newJob('b', { type: 'sms' }), newJob('c'))
  expect(hints.splice(0)).toEqual([
    { kind: 'ready', type: 'mail', atMost: 2 },
    { kind: 'ready', type: 'sms', atMost: 1 },
  ])
  await store.queue('mail', { paused: true })
  await put(store, newJob('d'))
  expect(hints.splice(0)).toEqual([{ kind: 'queue', type: 'mail', paused: true }])
  await store.queue('mail', { paused: false })
  expect(hints.splice(0)).toEqual([
    { kind: 'queue', type: 'mail', paused: false },
    { kind: 'ready', type: 'mail', atMost: 3 },
  ])
  await store.insert([{ jobs: [newJob('e')], capacity: 1 }])
  await take(store, { max: 1 })
  await take(store, { max: 1 })
  expect(hints.splice(0)).toEqual([{ kind: 'room' }])
})

test('a listener may call the store from a hint', async () => {
  const store = memoryStore({ clock: handClock() })
  const claims: ReturnType<typeof take>[] = []
  store.watch(({ kind }) => {
    if (kind === 'ready') claims.push(take(store))
  })
  await put(store, newJob('a'), newJob('b', { type: 'sms' }))
  expect((await Promise.all(claims)).flatMap(idsOf)).toEqual(['a'])
})
