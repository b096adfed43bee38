/** The SQLite store against the contract, in a thread of its own. */
import { storeConformance } from 'jobchart/store-testing'
import { test } from 'vitest'
import { sqliteSubject } from '../support/sqlite-subject.ts'

// Each sequence makes a file and a thread.
const random = { sequences: 20 }
storeConformance({ name: 'sqlite in a thread', test, random, create: () => sqliteSubject(true) })
