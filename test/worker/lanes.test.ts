/** The dispatcher: commands by urgency, and a pick only when every lane is empty. */
import { BehaviorSubject, concatMap, filter, map, merge, Subject, tap, type Observable } from 'rxjs'
import { expect, test } from 'vitest'
import { Lane, Lanes, type Turn } from '../../src/worker/lanes.ts'
import { marbles } from '../support/marbles.ts'

const joined = map((batch: readonly string[]) => batch.join('+'))
const alone = map((name: string) => [name])
const taken = concatMap(function* (turn: Turn<string>) {
  for (let name = turn.next(); name !== null; name = turn.next()) yield name
})
const those = (...names: string[]) => filter((name: string) => names.includes(name))
const picksOf = (lanes: Lanes): Observable<string> => lanes.free.pipe(map(() => 'p'))
const values = { b: 'e+f', c: 'c', d: 'd', e: 'e', p: 'p', r: 'r', s: 's', t: 't', u: 'u', w: 'w', x: 'x' }

test('commands of one turn come out by urgency, a lane at a time, before a pick may be made', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const commands = hot('-(wefc)---w')
    const wakes = commands.pipe(those('w'), lanes.batches(Lane.wake), joined)
    const ends = commands.pipe(those('e', 'f'), lanes.batches(Lane.settle), joined)
    const cancels = commands.pipe(those('c'), lanes.batches(Lane.cancel), joined)
    expectObservable(merge(wakes, ends, cancels, picksOf(lanes))).toBe('-(cbwp)---(wp)', values)
  }))

test('a command raised while another is handled, or by a pick, goes before the next pick', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const raised = new Subject<string>()
    let picks = 0
    const wakes = hot('-w').pipe(
      lanes.batches(Lane.wake),
      joined,
      tap(() => raised.next('c')),
    )
    const cancels = raised.pipe(lanes.batches(Lane.cancel), joined)
    const made = picksOf(lanes).pipe(tap(() => picks++ === 0 && raised.next('d')))
    expectObservable(merge(cancels, wakes, made)).toBe('-(wcpdp)', values)
  }))

test('commands that are taken one by one give way to more urgent ones, and no others', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const raised = new Subject<string>()
    const starts = hot('-(stu)').pipe(
      alone,
      lanes.turns(Lane.start),
      taken,
      tap((name) => {
        if (name === 's') raised.next('e')
        if (name === 't') raised.next('c')
      }),
    )
    const cancels = raised.pipe(those('c'), lanes.batches(Lane.cancel), joined)
    const ends = raised.pipe(those('e'), lanes.batches(Lane.settle), joined)
    expectObservable(merge(cancels, ends, starts, picksOf(lanes))).toBe('-(stcuep)', values)
  }))

test('what is not taken of a turn comes again in the next, with what has arrived meanwhile', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const turns = hot('-(st)-u').pipe(
      alone,
      lanes.turns(Lane.start),
      map((turn) => [turn.rest.join(''), turn.next()].join('>')),
    )
    expectObservable(turns).toBe('-(st)-u', { s: 'st>s', t: 't>t', u: 'u>u' })
  }))

test('a lane that is held keeps its commands, and no other lane waits for them', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const held = new BehaviorSubject(false)
    const changes = hot('h------------r', { h: true, r: false }).pipe(
      tap((isHeld) => held.next(isHeld)),
      filter(() => false),
    )
    const starts = hot(' -(st)--u').pipe(alone, lanes.turns(Lane.start, held), taken)
    const wakes = hot('  -------w').pipe(lanes.batches(Lane.wake), joined)
    expectObservable(merge(changes, starts, wakes, picksOf(lanes))).toBe('-------(wp)--(stup)', values)
  }))

test('a nudge lets a pick be made; without one and without a command there is none', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const nudges = hot('-n-(nn)').pipe(
      tap(() => lanes.nudge()),
      filter(() => false),
    )
    expectObservable(merge(nudges, picksOf(lanes))).toBe('-p-p', values)
  }))

test('when the time of a turn is used up, the rest waits for the next one, behind what is more urgent by then', () =>
  marbles(({ hot, expectObservable, lanes, budget }) => {
    const commands = hot('-(we)')
    const wakes = commands.pipe(those('w'), lanes.batches(Lane.wake), joined)
    const ends = commands.pipe(those('e'), lanes.batches(Lane.settle), joined)
    const cancels = hot('--c').pipe(lanes.batches(Lane.cancel), joined)
    const all = merge(cancels, wakes, ends, picksOf(lanes)).pipe(tap(() => (budget.spent = true)))
    expectObservable(all).toBe('-ecwp', values)
  }))

test('commands that arrive when the time of a turn is used up begin in the next one', () =>
  marbles(({ hot, expectObservable, lanes, budget }) => {
    budget.spent = true
    const wakes = hot('-w').pipe(lanes.batches(Lane.wake), joined)
    expectObservable(merge(wakes, picksOf(lanes))).toBe('--(wp)', values)
  }))

test('nothing comes out after the last subscriber has gone', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const wakes = hot('-w-w-w').pipe(lanes.batches(Lane.wake), joined)
    expectObservable(merge(wakes, picksOf(lanes)), '---!').toBe('-(wp)', values)
  }))

test('a lane has the commands of one stream at a time', () =>
  marbles(({ hot, expectObservable, lanes }) => {
    const errors: unknown[] = []
    const wakes = hot('-w').pipe(lanes.batches(Lane.wake), joined)
    const first = wakes.subscribe()
    wakes.subscribe({ error: (error) => errors.push(error) })
    expect(errors).toEqual([expect.any(TypeError)])
    first.unsubscribe()
    expectObservable(wakes).toBe('-w', values)
  }))

test('a lane that is left while it is emptied holds up no other', async () => {
  const lanes = new Lanes()
  const [starts, wakes] = [new Subject<string[]>(), new Subject<string>()]
  const seen: unknown[] = []
  const left = starts.pipe(lanes.turns<string>(Lane.start)).subscribe((turn) => {
    seen.push(turn.next())
    left.unsubscribe()
  })
  wakes.pipe(lanes.batches(Lane.wake)).subscribe((batch) => seen.push(batch))
  starts.next(['first', 'second'])
  wakes.next('wake')
  await Promise.resolve()
  expect(seen).toEqual(['first', ['wake']])
})
