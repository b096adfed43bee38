/**
 * How a file becomes one of this version: one SQL text per version. The first makes version 1 of an empty file, the
 * second version 2 of that, and so on (`PRAGMA user_version`).
 *
 * A text that was released is frozen: files in the world were made by it, and a later text starts from what it made. So
 * it is a literal, and nothing of it is derived from the chart or from any other code. Checksums in
 * `test/stores/sqlite/migrations.test.ts` hold the frozen texts. With the first release that has a second version, a
 * file that the first one has written is kept, and tests open it.
 *
 * To change the schema: if the last text has not been released yet, change it. Otherwise add a file
 * `NNNN-what.ts` and name it at the end of the list below. A version is also needed, if only with an empty text, when
 * the chart of a job gets another state: an older jobchart that shares the file would meet jobs in a state that it does
 * not know, and a newer version of the file is what makes it refuse.
 *
 * The texts are TypeScript modules and not `.sql` files so that a bundler takes them along. See
 * `docs/decisions/0007-frozen-migrations.md`.
 */
import { jobs } from './0001-jobs.ts'

export const migrations: readonly string[] = [jobs]

/** The version of a file that this jobchart reads and writes. */
export const fileVersion = migrations.length

/** `PRAGMA application_id` of a jobchart file: 'jobc'. */
export const applicationId = 0x6a626368
