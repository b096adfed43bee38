/** Charts that live once as an actor and once as a job: actors that work. */
import { describe } from 'vitest'
import { callbacks, observables, promises, sums } from './actors.ts'
import { durables } from './durables.ts'
import { oracle } from './oracle.ts'

describe('promises', () => oracle(promises))
describe('callbacks', () => oracle(callbacks))
describe('observables', () => oracle(observables))
describe('transition functions', () => oracle(sums))
describe('durable promises', () => oracle(durables))
