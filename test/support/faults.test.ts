/** Injected faults: in place while they are on, gone when they are off, and typed against what they replace. */
import { expect, test } from 'vitest'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { exportedCallables } from './faultable-modules.ts'
import { replace, switchable, switchableClass, changeFirstArgument } from './fault-switches.ts'
import { inFunction, inGetter, inMethod, together } from './faults.ts'

const clocks = () => import('../../src/testing/virtual-clock.ts')
const leases = () => import('../../src/worker/lease-clock.ts')

test('a method and a getter are replaced while the fault is on', async () => {
  const clock = new VirtualClock({ start: 5 })
  const { on, off } = await together(
    inMethod(clocks, 'VirtualClock', 'now', (now) => () => now() + 1),
    inGetter(clocks, 'VirtualClock', 'pending', (pending) => pending() + 10),
  )()
  expect([clock.now(), clock.pending]).toEqual([5, 0])
  on()
  on()
  expect([clock.now(), clock.pending]).toEqual([6, 10])
  off()
  off()
  expect([clock.now(), clock.pending]).toEqual([5, 0])
})

test('a fault that does not fit what it replaces does not compile', () => {
  // @ts-expect-error there is no such method
  inMethod(clocks, 'VirtualClock', 'later', () => () => 5)
  // @ts-expect-error it gives a number
  inMethod(clocks, 'VirtualClock', 'now', () => () => 'five')
  // @ts-expect-error there is no such function
  inFunction(leases, 'fenceBefore', () => () => 5)
  // @ts-expect-error it takes numbers
  inFunction(leases, 'fenceAt', () => (sentAt: string) => sentAt.length)
})

test('a function of a module without switches is not replaced', async () => {
  const { on } = await inFunction(leases, 'fenceAt', () => () => 5)()
  expect(on).toThrow('not faultable')
})

test('functions and classes are replaceable behind switches', () => {
  const double = switchable((n) => 2 * Number(n))
  const undo = replace(double, (right) => (n) => Number(right(n)) + 1)
  expect(double(2)).toBe(5)
  undo()
  expect(double(2)).toBe(4)

  class Box {
    readonly content: unknown
    constructor(content: unknown) {
      this.content = content
    }
  }
  const Switched = switchableClass(Box)
  const undoChange = changeFirstArgument<number>(Switched, (content) => content + 1)
  expect(new Switched(1)).toEqual(new Box(2))
  undoChange()
  expect(new Switched(1)).toEqual(new Box(1))
  expect(new Switched(1)).toBeInstanceOf(Box)
})

test('the functions and classes that a module exports are found', () => {
  const text = `
    export function a() {}
    export const b = () => 1, c = 2
    export class D {}
    export interface E {}
    function f() {}
    export { f }
  `
  expect(exportedCallables('x.ts', text)).toEqual([
    { name: 'a', kind: 'function' },
    { name: 'b', kind: 'function' },
    { name: 'D', kind: 'class' },
  ])
})
