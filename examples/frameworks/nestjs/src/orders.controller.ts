import { Body, Controller, Get, HttpCode, NotFoundException, Param, Post } from '@nestjs/common'
import type { Runtime } from 'jobchart'
import { InjectRuntime } from './jobs.module.js'
import { order } from './order.js'

@Controller('orders')
export class OrdersController {
  constructor(@InjectRuntime() private readonly runtime: Runtime) {}

  @Post()
  @HttpCode(202)
  async place(@Body() { item, packingMs = 10 }: { item: string; packingMs?: number }) {
    const { id } = await this.runtime.enqueue(order, { item, packingMs })
    return { id }
  }

  @Get(':id')
  async look(@Param('id') id: string) {
    const job = await this.runtime.job(order, id)
    if (job === null) throw new NotFoundException('no such order')
    const { state, output } = await job.record()
    return { state, output }
  }
}
