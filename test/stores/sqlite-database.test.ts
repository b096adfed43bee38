/** The SQLite store in a database of the user, on the user's connection of either library, against the contract. */
import { test } from 'vitest'
import { storeConformance } from '../../src/store-testing/conformance/index.ts'
import { everyNth, isLong } from '../harness/long-form.ts'
import { sqliteDatabaseSubject } from '../support/sqlite-subject.ts'
import { sqliteLibraries } from '../support/user-databases.ts'

// Each sequence makes a file.
const random = { sequences: isLong ? 200 : 10 }
for (const library of sqliteLibraries) {
  const create = () => sqliteDatabaseSubject(library)
  // The statements are those of the store in a file of its own.
  storeConformance({
    name: `sqlite in a database of the user, ${library.name}`,
    test: everyNth(3, test),
    random,
    create,
  })
}
