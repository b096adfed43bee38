/** Charts that live once as an actor and once as a job: states, transitions and decisions. */
import { describe } from 'vitest'
import { actions, params } from './actions.ts'
import { always, guards } from './guards.ts'
import { history } from './history.ts'
import { oracle } from './oracle.ts'
import { delayedRaises, emitted, enqueued, raised } from './raise.ts'
import { descriptors, tags, transitions } from './transitions.ts'

describe('actions', () => oracle(actions))
describe('params', () => oracle(params))
describe('transitions', () => oracle(transitions))
describe('event descriptors', () => oracle(descriptors))
describe('tags', () => oracle(tags))
describe('guards', () => oracle(guards))
describe('always', () => oracle(always))
describe('raise', () => oracle(raised))
describe('enqueueActions', () => oracle(enqueued))
describe('emit', () => oracle(emitted))
describe('delayed raise', () => oracle(delayedRaises))
describe('history', () => oracle(history))
