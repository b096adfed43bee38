/** Charts that live once as an actor and once as a job: machines in machines, and edges. */
import { describe } from 'vitest'
import { errors, inputs, routes, stories } from './edges.ts'
import { oracle } from './oracle.ts'
import { children, spawned } from './machines.ts'

describe('child machines', () => oracle(children))
describe('spawned actors', () => oracle(spawned))
describe('errors', () => oracle(errors))
describe('input and output', () => oracle(inputs))
describe('routes', () => oracle(routes))
describe('stories', () => oracle(stories))
