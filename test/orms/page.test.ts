/** The programs that docs/your-transaction.md shows, one per library, as they stand there. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test as plainTest } from 'vitest'
import { runProgram } from '../harness/processes.ts'
import { jsBlocks, tsBlocks } from '../support/markdown-code.ts'
import { postgresOfFile, postgresTest } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingLibraries } from './install.ts'

const server = postgresOfFile()
const test = missingLibraries().length === 0 ? postgresTest : postgresTest.skip
const testOnSqlite = missingLibraries().length === 0 ? plainTest : plainTest.skip

const page = readFileSync(new URL('../../docs/your-transaction.md', import.meta.url), 'utf8')
const folder = new URL('.page/', import.meta.url)
const nameOf = (code: string): string => /^\/\/ ([\w.-]+)/.exec(code)?.[1] ?? ''
const named = tsBlocks(page)
  .map(({ code }) => code)
  .filter((code) => nameOf(code) !== '')
const isOnSqlite = (code: string): boolean => code.includes('jobchart/sqlite')
const [onPostgres, onSqlite] = [jsBlocks(page).filter((code) => !isOnSqlite(code)), jsBlocks(page).filter(isOnSqlite)]

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(new URL('.gitignore', folder), '*\n')
  for (const code of named) writeFileSync(new URL(nameOf(code), folder), code)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the page has a program of each library', () => {
  expect(onPostgres.map(nameOf)).toEqual(['drizzle', 'kysely', 'knex', 'prisma', 'postgres.js', 'typeorm'])
  expect(onSqlite.map(nameOf)).toEqual(['drizzle-on-sqlite', 'kysely-on-sqlite'])
})

for (const code of [...onPostgres, named.find((each) => nameOf(each) === 'checkout.ts') ?? '']) {
  test(`${nameOf(code)} stores the row and the job`, async () => {
    await server().query('CREATE TABLE IF NOT EXISTS orders (id text)')
    const program = new URL(`${nameOf(code).replaceAll('.', '-')}.ts`, folder)
    const close = code.includes('await db.connect()') ? 'await db.end()' : ''
    writeFileSync(program, `// @ts-nocheck\n${code}\n${close}\nawait client.close()\n`)
    const { exitCode, stderr } = await runProgram(fileURLToPath(program), [], { env: { DATABASE_URL: server().url } })
    expect(stderr).toBe('')
    expect(exitCode).toBe(0)
    const order = /VALUES \('([\w.]+)'\)|insert\({ id: '(\w+)'/.exec(code)
    const id = order?.[1] ?? order?.[2] ?? '7'
    expect(await server().query('SELECT id FROM orders WHERE id = $1', [id])).toHaveLength(1)
    const jobs = await server().query('SELECT doc FROM jobchart.jobs WHERE position($1 IN doc) > 0', [
      `"order":"${id}"`,
    ])
    expect(jobs).toHaveLength(1)
  })
}

for (const code of [...onSqlite, named.find((each) => nameOf(each) === 'till.ts') ?? '']) {
  const name = nameOf(code).replace('.', '-')
  testOnSqlite(`${name} stores the row and the job`, async () => {
    const files = temporaryFolder()
    onTestFinished(() => files.remove())
    const path = join(files.path, 'shop.db')
    const database = new DatabaseSync(path)
    onTestFinished(() => database.close())
    database.exec('CREATE TABLE orders (id TEXT)')
    const program = new URL(`${name}.ts`, folder)
    const end = code.includes('client.close') ? '' : 'await client.close()\ndatabase.close()'
    writeFileSync(program, `// @ts-nocheck\n${code}\n${end}\n`)
    const { exitCode, stderr } = await runProgram(fileURLToPath(program), [], { folder: files.path })
    expect(stderr).toBe('')
    expect(exitCode).toBe(0)
    const id = /VALUES \('(\w+)'\)/.exec(code)?.[1] ?? '7'
    expect(database.prepare('SELECT id FROM orders WHERE id = ?').all(id)).toHaveLength(1)
    expect(database.prepare('SELECT id FROM jobchart_jobs WHERE input = ?').all(`{"order":"${id}"}`)).toHaveLength(1)
  })
}
