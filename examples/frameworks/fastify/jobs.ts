import { createRuntime, defineJob } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'

export const order = defineJob<{ item: string; packingMs: number }, { shipped: string }>({
  type: 'order',
  async run({ item, packingMs }, ctx) {
    await ctx.step('pack', () => new Promise<void>((resolve) => setTimeout(resolve, packingMs)))
    return { shipped: item }
  },
})

export const runtime = createRuntime({ jobs: [order], store: process.env['JOBS'] ?? 'jobs.db' })

const expected = `Basic ${btoa(`admin:${process.env['ADMIN_PASSWORD'] ?? 'local only'}`)}`

/** The dashboard asks the browser for a name and a password. Put the sign-in of your application here. */
export const dashboard = createDashboard({
  runtime,
  authorize: (request) =>
    request.headers.get('authorization') === expected
      ? 'admin'
      : new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="jobs"' } }),
})
