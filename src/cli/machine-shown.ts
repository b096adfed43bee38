/** The chart of a job's machine, with its active states and the events it takes now. */
import { toGraph, toText } from '../chart/index.ts'
import { chartOf } from '../core/definition.ts'
import { isEnded } from '../core/lifecycle.ts'
import { statesIn } from '../core/state-paths.ts'
import { eventsOf } from '../dashboard/machine-shown.ts'
import { JobchartError, type Client, type JobRecord } from '../index.ts'

/** @returns null if the job has no machine in this process */
export async function machineShown(
  client: Client,
  record: JobRecord,
): Promise<{ readonly data: object; readonly text: string } | null> {
  const runner = client.jobs.get(record.type)?.machine ?? null
  if (runner === null) return null
  let chart = chartOf(runner, record.version)
  try {
    const view = await (await client.job(record.id))?.snapshot()
    if (view === undefined) return null
    chart = chartOf(runner, view.version)
    const states = statesIn(view.value)
    const events = isEnded(record.state) ? [] : eventsOf(toGraph(chart.machine), states, view)
    const { value, context, tags, status } = view
    const { version, unsupported } = view
    const data = { version, value, context, tags, status, states, events, unsupported }
    const taken = events.filter(({ accepted }) => accepted).map(({ type }) => type)
    const text = toText(chart.machine, { active: states }).trimEnd()
    if (unsupported !== null)
      return { data, text: `${text}\n\nIn ${states.join(' ')} of version ${version}: ${unsupported}` }
    return { data, text: taken.length === 0 ? text : `${text}\n\nTakes now: ${taken.join(', ')}` }
  } catch (error) {
    if (!(error instanceof JobchartError)) throw error
    return { data: { version: chart.version, problem: error.message }, text: error.message }
  }
}
