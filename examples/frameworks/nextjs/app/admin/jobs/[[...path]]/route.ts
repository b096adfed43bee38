import { createDashboard } from 'jobchart/dashboard'
import { client } from '../../../../client.ts'

const expected = `Basic ${btoa(`admin:${process.env['ADMIN_PASSWORD'] ?? 'local only'}`)}`

/** The dashboard asks the browser for a name and a password. Put the sign-in of your application here. */
const dashboard = createDashboard({
  client,
  authorize: (request) =>
    request.headers.get('authorization') === expected
      ? 'admin'
      : new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="jobs"' } }),
})

export const GET = dashboard.fetch
export const POST = dashboard.fetch
export const dynamic = 'force-dynamic'
