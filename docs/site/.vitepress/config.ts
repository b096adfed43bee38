import { fileURLToPath } from 'node:url'
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { entries } from '../entries.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const source = (path: string): string => pathOf(`../../../src/${path}`)

const titleOf = (name: string): string => /^# (.+)$/m.exec(readFileSync(pathOf(`../../${name}`), 'utf8'))?.[1] ?? name
const pages = readdirSync(pathOf('../..')).filter((name) => name.endsWith('.md'))
const listed = (names: readonly string[]) =>
  names.map((name) => ({ text: titleOf(name), link: `/${name.replace(/\.md$/, '')}` }))
const first = ['guide.md', 'machines.md', 'guarantees.md', 'testing.md', 'dashboard.md', 'production.md']
const coming = pages.filter((name) => name.startsWith('coming-from'))

export default defineConfig({
  title: 'jobchart',
  description: 'A job runtime in which every job is an XState statechart',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.vitepress/cache',
  // Pages also name files that are no pages, such as the description of the API of the dashboard.
  ignoreDeadLinks: true,
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Start', items: listed(first) },
      { text: 'Pages', items: listed(pages.filter((name) => !first.includes(name) && !coming.includes(name))) },
      { text: 'Coming from', items: listed(coming) },
      { text: 'API', items: entries.map(({ name, page }) => ({ text: name, link: `/api/${page}` })) },
    ],
  },
  vite: {
    publicDir: false,
    resolve: {
      alias: [
        { find: /^jobchart$/, replacement: source('index.ts') },
        { find: 'jobchart/chart', replacement: source('chart/index.ts') },
        { find: 'jobchart/testing', replacement: source('testing/index.ts') },
        { find: '#stores', replacement: source('open/no-stores.ts') },
      ],
    },
  },
})
