/**
 * How a schema becomes one of this version: one SQL text per version. The first makes version 1 of an empty schema, the
 * second version 2 of that, and so on.
 *
 * A text that was released is frozen: schemas in the world were made by it, and a later text starts from what it made.
 * Checksums in `test/stores/postgres/migrations.test.ts` hold the frozen texts. To change the schema: if the last text
 * has not been released yet, change it. Otherwise add a file `NNNN-what.ts`, and name it at the end of the list below.
 */
import { jobs } from './0001-jobs.ts'
import { transactions } from './0002-transactions.ts'
import { plainJobs } from './0003-plain-jobs.ts'
import { loading } from './0004-loading.ts'

/** `@schema@` stands for the quoted name of the schema. */
export const migrations: readonly string[] = [jobs, transactions, plainJobs, loading]

/** The version of a schema that this jobchart reads and writes. */
export const schemaVersion = migrations.length
