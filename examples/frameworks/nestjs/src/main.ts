import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Runtime } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import { JobsModule, runtimeToken } from './jobs.module.js'
import { order } from './order.js'
import { OrdersController } from './orders.controller.js'

@Module({
  imports: [JobsModule.forRoot({ jobs: [order], store: process.env['JOBS'] ?? 'jobs.db' })],
  controllers: [OrdersController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
app.enableShutdownHooks(['SIGTERM', 'SIGINT'])

const expected = `Basic ${btoa(`admin:${process.env['ADMIN_PASSWORD'] ?? 'local only'}`)}`

/** The dashboard asks the browser for a name and a password. Put the guards of your application here. */
const dashboard = createDashboard({
  runtime: app.get<Runtime>(runtimeToken),
  authorize: (request) =>
    request.headers.get('authorization') === expected
      ? 'admin'
      : new Response('Who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="jobs"' } }),
})
app.use('/admin/jobs', dashboard.node)

await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
