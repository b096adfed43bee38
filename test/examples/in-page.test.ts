/** The code of the pages that has a button on the site runs, and says something. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runnablePages, runnables, withButtons } from '../../docs/site/runnable.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

// Inside the repository, so that `import 'jobchart'` finds us.
const folder = join(repositoryRoot, 'test/examples/.in-page')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
writeFileSync(join(folder, '.gitignore'), '*\n')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pages = runnablePages(join(repositoryRoot, 'docs'))
const found = [...pages.values()].flat()

test('the guides have code to run', () => {
  const some = ['coming-from-agenda', 'coming-from-temporal', 'guide', 'machines', 'runtimes', 'tenants', 'testing']
  expect([...pages.keys()]).toEqual(expect.arrayContaining(some))
  expect(found.length).toBeGreaterThanOrEqual(10)
})

test.each(found)('$name runs in the page', async ({ name, module }) => {
  const path = join(folder, `${name}.ts`)
  writeFileSync(path, module)
  const block = (await import(path)) as { run(console: object): Promise<void> }
  const said: unknown[][] = []
  await block.run({ log: (...values: unknown[]) => void said.push(values) })
  expect(said).not.toEqual([])
})

test('code that is not whole, needs a server or does not end has no button', () => {
  const block = (code: string, mark = ''): string => `\`\`\`ts${mark}\n${code}\n\`\`\`\n`
  const whole = "import { a } from 'jobchart'\n\nawait a()\nconsole.log(1)"
  expect(runnables('page', block(whole))).toHaveLength(1)
  for (const code of [
    whole.replace('console.log(1)', ''),
    whole.replace("'jobchart'", "'jobchart/redis'"),
    `${whole}\nexport const b = 1`,
    `declare const c: string\n${whole}`,
    whole.replace('await a()', 'a(process.env)'),
  ]) {
    expect(runnables('page', block(code)), code).toEqual([])
  }
  expect(runnables('page', block(whole, ' no-run'))).toEqual([])
})

test('a button stands below its block', () => {
  const page = "# a\n\n```ts\nimport { a } from 'jobchart'\n\nawait a({ store: 'jobs.db' })\nconsole.log(1)\n```\n\nb\n"
  expect(withButtons(page, runnables('page', page))).toBe(
    page.replace('```\n\nb', '```\n\n<Run name="page-4" in-memory />\n\nb'),
  )
})
