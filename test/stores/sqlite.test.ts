/** The SQLite store against the contract, in this thread. */
import { test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { sqliteSubject } from '../support/sqlite-subject.ts'

storeConformance({ name: 'sqlite', test, create: () => sqliteSubject(false) })
