/** The TypeScript that the guides on durability show is checked as a reader would write it: one folder per page. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fenceCount, tsBlocks } from '../support/markdown-code.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

const pages = ['guarantees', 'schedules', 'several-processes', 'machines', 'cpu-bound-work']
// Inside the repository, so that `import 'jobchart'` finds us as a user's import finds the package.
const folder = join(repositoryRoot, 'test/examples/.readme')

const typeCheck = (page: string): Promise<string> =>
  new Promise((resolve) => {
    const tsc = join(repositoryRoot, 'node_modules/typescript/bin/tsc')
    const args = [tsc, '--project', join(folder, page), '--pretty', 'false']
    execFile(process.execPath, args, (error, stdout) => resolve(error === null ? '' : stdout || error.message))
  })

async function writePage(page: string, markdown: string): Promise<void> {
  await mkdir(join(folder, page), { recursive: true })
  const config = { extends: '../../../../tsconfig.json', include: ['.'], exclude: [] }
  await writeFile(join(folder, page, 'tsconfig.json'), JSON.stringify(config))
  for (const { line, code } of tsBlocks(markdown)) {
    // A block may begin with its file's name.
    const name = /^\/\/ ([\w-]+\.ts)\b/.exec(code)?.[1] ?? `line-${line}.ts`
    await writeFile(join(folder, page, name), code)
  }
}

beforeAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await writeFile(join(folder, '.gitignore'), '*\n')
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('a block with a type error is noticed', async () => {
  await writePage('wrong', "```ts\n// a.ts\nexport const a = 1\n```\n```ts\nimport { a } from './a.ts'\na.b()\n```\n")
  expect(await typeCheck('wrong')).toContain('line-6.ts(2,3): error TS2339')
})

test.each(pages)('docs/%s.md shows what type-checks', async (page) => {
  const markdown = readFileSync(join(repositoryRoot, 'docs', `${page}.md`), 'utf8')
  expect(tsBlocks(markdown)).toHaveLength(fenceCount(markdown))
  await writePage(page, markdown)
  expect(await typeCheck(page)).toBe('')
})
