/**
 * The SQLite store against the contract, in a thread of its own: every eighth case, and all of them in the long form.
 */
import { storeConformance } from 'jobchart/store-testing'
import { test } from 'vitest'
import { everyNth, isLong } from '../harness/long-form.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

// Each sequence makes a file and a thread.
const random = { sequences: isLong ? 20 : 5 }
storeConformance({ name: 'sqlite in a thread', test: everyNth(32, test), random, create: () => sqliteSubject(true) })
