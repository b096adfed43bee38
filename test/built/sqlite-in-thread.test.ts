/** The SQLite store against the contract, in a thread of its own: every fourth case, and all of them in the long form. */
import { storeConformance } from 'jobchart/store-testing'
import { test } from 'vitest'
import { everyNth } from '../support/long-form.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

// Each sequence makes a file and a thread.
const random = { sequences: 20 }
storeConformance({ name: 'sqlite in a thread', test: everyNth(4, test), random, create: () => sqliteSubject(true) })
