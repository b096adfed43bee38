/** The SQLite store against the contract, in a thread of its own. */
import { test } from 'vitest'
import { storeConformance } from '../../src/testing/conformance/index.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

// Each sequence makes a file and a thread.
const random = { sequences: 20 }
storeConformance({ name: 'sqlite in a thread', test, random, create: () => sqliteSubject(true) })
