/** The SQLite store against the contract, in this thread. */
import { test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { isLong } from '../harness/long-form.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

// Each sequence makes a file.
const random = { sequences: isLong ? 200 : 20 }
storeConformance({ name: 'sqlite', test, random, create: () => sqliteSubject(false) })
