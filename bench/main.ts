/** `npm run bench -- [store]`: measures, prints tables, writes JSON. Ends with 1 if any work was not verified. */
import { writeFileSync } from 'node:fs'
import { parseCommand, usage, UsageError, type Command } from './command.ts'
import { installPeers } from './harness/peers.ts'
import { runSuite } from './run.ts'
import { recordFigures } from './report/figures.ts'
import { machine, machineLine } from './report/machine.ts'
import type { Report } from './report/report.ts'
import { sectionTable } from './report/table.ts'
import type { Suite } from './suite.ts'
import { allSuites, chooseSections, findSuite } from './suites/index.ts'

async function main(command: Command): Promise<void> {
  const { store, only } = command
  const chosen =
    store === null
      ? (await allSuites()).map((suite) => [suite, suite.main] as const)
      : [[await findSuite(store), only] as const]
  let verified = true
  for (const [suite, names] of chosen) {
    const report = await measure(suite, names, command)
    verified &&= report.verified
    if (command.record) recordFigures(report)
  }
  if (!verified) process.exitCode = 1
}

async function measure(
  suite: Suite,
  only: readonly string[] | null,
  { settings, json }: Pick<Command, 'settings' | 'json'>,
): Promise<Report> {
  const sections = chooseSections(suite, only)
  const place = suite.place?.() ?? null
  // JSON on stdout leaves no room for tables there.
  const print = json === '-' ? console.error : console.log
  if (settings.peers && sections.some(({ needsPeers }) => needsPeers)) installPeers()
  const where = machine()
  print(`${suite.store}: ${machineLine(where)}`)
  if (place !== null) print(place)
  if (settings.scale !== 1) print(`Sizes × ${settings.scale}: this shows that it works, not how fast it is.`)
  const measured = await runSuite(sections, settings, (section) => print(`\n${sectionTable(section)}`))
  const verified = measured.every(({ problem }) => problem === null)
  print(verified ? '\nAll work was verified: every job counted once.' : '\nNOT VERIFIED: these figures do not count.')
  const at = new Date().toISOString()
  const report: Report = { store: suite.store, at, machine: where, place, settings, sections: measured, verified }
  if (json === '-') console.log(JSON.stringify(report, null, 2))
  else if (json !== null) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`)
  return report
}

try {
  await main(parseCommand(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
