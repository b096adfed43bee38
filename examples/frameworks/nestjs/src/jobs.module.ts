import {
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common'
import { createRuntime, type Runtime, type RuntimeOptions } from 'jobchart'

export const runtimeToken = Symbol('jobchart runtime')

/** `@InjectRuntime() private readonly runtime: Runtime` in any provider or controller. */
export const InjectRuntime = (): PropertyDecorator & ParameterDecorator => Inject(runtimeToken)

/** Makes the runtime, starts it with the application, and stops it with its shutdown hooks. */
@Module({})
export class JobsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(@InjectRuntime() private readonly runtime: Runtime) {}

  static forRoot(options: RuntimeOptions): DynamicModule {
    const provider = { provide: runtimeToken, useFactory: () => createRuntime(options) }
    return { module: JobsModule, global: true, providers: [provider], exports: [provider] }
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.runtime.start()
  }

  /** Running jobs go on to their end, for 20 s at most; then they are released for other processes. */
  async onApplicationShutdown(): Promise<void> {
    await this.runtime.stop({ mode: 'finish', timeout: '20s' })
  }
}
