/**
 * The TypeScript that the README and the pages of docs/ show is checked as a reader would write it: one folder per
 * page.
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fenceCount, tsBlocks } from '../support/markdown-code.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package.
const folder = join(repositoryRoot, 'test/examples/.readme')

const markdownOf = (page: string): string =>
  readFileSync(join(repositoryRoot, page === 'README' ? 'README.md' : `docs/${page}.md`), 'utf8')

/** Decisions show internals; every other page shows what a reader may copy. */
const pages = [
  'README',
  ...readdirSync(join(repositoryRoot, 'docs'))
    .filter((name) => name.endsWith('.md') && fenceCount(readFileSync(join(repositoryRoot, 'docs', name), 'utf8')) > 0)
    .map((name) => name.replace(/\.md$/, '')),
]

async function writePage(page: string, markdown: string): Promise<void> {
  await mkdir(join(folder, page))
  // The programs that a page names stand in a folder of its name.
  const programs = join(repositoryRoot, 'docs', page)
  const names = existsSync(programs) ? readdirSync(programs).filter((name) => name.endsWith('.ts')) : []
  for (const name of names) await copyFile(join(programs, name), join(folder, page, name))
  for (const { line, code } of tsBlocks(markdown)) {
    // A block may begin with its file's name.
    const name = /^\/\/ ([\w-]+\.ts)\b/.exec(code)?.[1] ?? `line-${line}.ts`
    // Two blocks of one name would be one file.
    await writeFile(join(folder, page, name), code, { flag: 'wx' })
  }
}

/** What the compiler says of all pages. */
const typeCheck = (): Promise<string> =>
  new Promise((resolve) => {
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc')
    const args = [tsc, '--project', folder, '--pretty', 'false']
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) =>
      resolve(error === null ? '' : stdout + stderr || error.message),
    )
  })

let said = ''

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await writeFile(join(folder, '.gitignore'), '*\n')
  const config = { extends: '../../../tsconfig.json', include: ['*/*.ts'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await writePage('wrong', "```ts\n// a.ts\nexport const a = 1\n```\n```ts\nimport { a } from './a.ts'\na.b()\n```\n")
  for (const page of pages) await writePage(page, markdownOf(page))
  said = await typeCheck()
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('a block with a type error is noticed', () => {
  expect(said).toContain('wrong/line-6.ts(2,3): error TS2339')
})

test('the pages are found', () => {
  expect(pages).toEqual(expect.arrayContaining(['README', 'charts', 'dashboard', 'guide', 'machines', 'testing']))
})

test.each(pages)('no block of TypeScript in %s escapes the compiler', (page) => {
  const markdown = markdownOf(page)
  expect(tsBlocks(markdown)).toHaveLength(fenceCount(markdown))
})

test('every block type-checks', () => {
  expect(said.split('\n').filter((line) => line !== '' && !line.startsWith('wrong/'))).toEqual([])
})
