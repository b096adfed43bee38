/** Random charts, lived as an actor and as a job, and killed at every write. */
import { liveChartsTwice } from '../machine-job/oracle/random-charts.ts'
import type { Proof } from './proof.ts'

const charts = 3_000

export const chartsTwice: Proof = {
  name: 'charts',
  claim: 'a chart does as a job what it does as an XState actor, and a kill at any write changes nothing but repeats',
  async run({ seed, scale }) {
    const { lived, failures } = await liveChartsTwice({ firstSeed: seed, charts: charts * scale, killsEach: Infinity })
    return {
      summary: `${charts * scale} charts, ${lived} of them compared, half of these killed at every write`,
      failures,
    }
  },
}
