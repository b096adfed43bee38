/** Charts that live once as an actor and once as a job: states, transitions and decisions. */
import { describe } from 'vitest'
import { actions, params } from './actions.ts'
import { oracle } from './lives-twice.ts'
import { descriptors, tags, transitions } from './transitions.ts'

describe('actions', () => oracle(actions))
describe('params', () => oracle(params))
describe('transitions', () => oracle(transitions))
describe('event descriptors', () => oracle(descriptors))
describe('tags', () => oracle(tags))
