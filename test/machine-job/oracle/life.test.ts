/** Charts that live once as an actor and once as a job: regions, ends and time. */
import { describe } from 'vitest'
import { oracle } from './oracle.ts'
import { finals, parallel, time } from './parallel.ts'

describe('parallel states', () => oracle(parallel))
describe('final states', () => oracle(finals))
describe('after', () => oracle(time))
